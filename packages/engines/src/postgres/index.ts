// The PostgreSQL adapter of the `Database` port.

export { openPostgres, type PostgresOptions } from "./open-postgres.ts";

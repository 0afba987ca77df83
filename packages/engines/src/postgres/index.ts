// The PostgreSQL adapter of the `Database` port.

export { openPostgres } from "./open-postgres.ts";

-- A login for each role of a process, after roles.sql. The passwords come from the environment of psql (15 or newer):
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/roles.sql -f deploy/logins.sql
--
-- Safe to run again: it sets the passwords anew.

\getenv kernel_password TESSERA_DB_KERNEL_PASSWORD
\getenv worker_password TESSERA_DB_WORKER_PASSWORD
\getenv pmo_password TESSERA_DB_PMO_PASSWORD
\getenv tools_password TESSERA_DB_TOOLS_PASSWORD
\getenv api_password TESSERA_DB_API_PASSWORD
\getenv reader_password TESSERA_DB_READER_PASSWORD

select format('create role %I login', name)
  from unnest(array['kernel', 'worker', 'pmo', 'tools', 'api', 'reader']) as login(name)
 where not exists (select from pg_catalog.pg_roles where rolname = name) \gexec

-- A statement that changes a password must not reach the log of the server.
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = panic;
alter role kernel password :'kernel_password';
alter role worker password :'worker_password';
alter role pmo password :'pmo_password';
alter role tools password :'tools_password';
alter role api password :'api_password';
alter role reader password :'reader_password';

-- The pools of our processes are bounded; a reader is somebody else's program.
alter role reader connection limit 10;

grant tessera_kernel to kernel;
grant tessera_worker to worker, pmo, tools;
grant tessera_api to api;
grant tessera_api_ro to reader;

-- What the migrator itself needs. Safe to run again.
create schema if not exists l0;
create table if not exists l0.migrations (
  version      integer primary key,
  name         text not null,
  digest       text not null,
  is_breaking  boolean not null,
  applied_at   timestamptz not null
);
create table if not exists l0.functions_installed (
  only_row        boolean primary key check (only_row),
  digest          text not null,
  schema_version  integer not null
);

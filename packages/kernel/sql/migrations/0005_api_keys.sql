-- compat: expand
-- API keys: who may use the HTTP API, for which project, as what.
--
--   K1. Only the SHA-256 of a key's 256-bit secret is stored: what is read here opens nothing.
--   K2. A key is never edited: it is made, used, and revoked once. Its id stays taken.

create table resource.api_keys (
  key_id         text collate "C" primary key,
  secret_sha256  bytea not null check (octet_length(secret_sha256) = 32),
  -- Null: every project.
  project_id     text collate "C" references resource.projects,
  role           text collate "C" not null check (role in ('viewer', 'operator', 'executor', 'admin')),
  -- Whose calls an executor may take. Other roles have none.
  targets        text[] collate "C" not null default '{}' check ((role = 'executor') = (cardinality(targets) > 0)),
  label          text not null default '',
  created_at     timestamptz not null,
  expires_at     timestamptz,
  revoked_at     timestamptz,
  -- Coarse: written at most once in five minutes.
  last_used_at   timestamptz
);
create index api_keys_by_project on resource.api_keys (project_id, key_id);

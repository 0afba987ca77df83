-- compat: expand
-- Resources: who takes part and which tools there are.
--
--   T1. A tool definition is appended, never edited; a call pins the digest it was made with (design D11).
--       The newest version of a name is the current one; a version with removed = true ends the name.

create table resource.projects (
  project_id  text collate "C" primary key,
  title       text not null default '',
  owner_id    text collate "C",
  status      text collate "C" not null default 'active' check (status in ('active', 'inactive', 'archived')),
  created_at  timestamptz not null
);

create table resource.project_agents (
  project_id      text collate "C" not null references resource.projects,
  agent_id        text collate "C" not null,
  profile_box_id  text collate "C",
  worker_target   text collate "C" not null,
  tags            text[] not null default '{}',
  display_name    text,
  owner_agent_id  text collate "C",
  status          text collate "C" not null default 'active' check (status in ('active', 'inactive')),
  metadata        jsonb not null default '{}',
  created_at      timestamptz not null,
  last_seen_at    timestamptz,
  primary key (project_id, agent_id)
);

create table resource.tool_versions (
  project_id       text collate "C" not null references resource.projects,
  tool_name        text collate "C" not null check (tool_name ~ '^[A-Za-z0-9_-]{1,64}$'),
  version          integer not null,
  digest           text collate "C" not null,
  removed          boolean not null default false,
  description      text not null default '',
  parameters       jsonb not null default '{}',
  target_subject   text collate "C" not null,
  after_execution  text collate "C" not null check (after_execution in ('suspend', 'terminate')),
  options          jsonb not null default '{}',
  created_at       timestamptz not null,
  primary key (project_id, tool_name, version)
);
create index tool_versions_by_digest on resource.tool_versions (project_id, tool_name, digest);

create view resource.tools as
  select v.project_id, v.tool_name, v.description, v.parameters, v.target_subject, v.after_execution, v.options,
         v.digest, v.version, v.created_at
    from resource.tool_versions v
   where not v.removed
     and not exists (select 1 from resource.tool_versions n
                      where n.project_id = v.project_id and n.tool_name = v.tool_name and n.version > v.version);

-- Which database logins may open the calls of a target. A target without a row here may be opened by any tool login that shows the
-- ticket; on a bus where every login hears every command (LISTEN/NOTIFY), tools that must not take one another's calls are bound.
create table resource.target_principals (
  target      text collate "C" not null,
  principal   text collate "C" not null,
  created_at  timestamptz not null,
  primary key (target, principal)
);

-- compat: expand
-- Profiles by name: which box holds the profile that a name means today, and who runs its agents.
--
--   P1. The document is a `sys.profile` card in its box and never changes; a new upload of the same name names a new box.
--       Agents and turns keep the box they were made with.
--   P2. A removed name keeps its row, so that no role of ours needs to delete; the next upload brings it back.

create table resource.profiles (
  project_id      text collate "C" not null references resource.projects,
  name            text collate "C" not null,
  profile_box_id  text collate "C" not null,
  worker_target   text collate "C" not null,
  tags            text[] collate "C" not null default '{}',
  description     text not null default '',
  updated_at      timestamptz not null,
  removed_at      timestamptz,
  primary key (project_id, name)
);
create index profiles_by_box on resource.profiles (project_id, profile_box_id);

-- compat: expand
-- Processes that a turn held up for good (functions/30_workers.sql, l0.note_hang).

-- Of which turns the watch of this worker's process said that they held it up; null: it said nothing, or did not know.
alter table state.workers add column hung_turns text[] collate "C";
-- The hangs of processes that this turn was blamed for, by their ids; at the second it is ended.
alter table state.agent_turns add column hangs text[] collate "C";

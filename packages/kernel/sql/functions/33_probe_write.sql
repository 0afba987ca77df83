-- Whether the store takes writes again, asked while it did not (a full disk, a standby): a write of 64 KiB that needs room of its own,
-- taken back before it is seen. What it leaves is room for the next one.
--
-- moves: none. answer: { writable: true }, or the error that a write gets.
create or replace function l0.probe_write(at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  begin
    insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
    -- 2,000 different digests: nothing that is compressed to a few bytes.
    select 'default', 'probe', 'probe', jsonb_build_object('room', string_agg(md5(n::text), '')), coalesce(at, clock_timestamp())
      from generate_series(1, 2000) n;
    raise exception using errcode = 'P0PRB', message = 'taken back';
  exception
    when sqlstate 'P0PRB' then null;
  end;
  return json_build_object('writable', true);
end $$;

-- What executors were refused is noted in the audit log, but not without end: whoever holds a key or a login can be refused a thousand
-- times a second, and each note is a row for ever.
--
--   A1. Of one kind and code, for one project and one principal, a minute holds rows_max rows. What comes beyond that is counted: the newest of
--       these rows says in its detail how many were left out after it (`left_out`).
--   A2. Nobody waits for another's note: a row that somebody has locked is passed over, and if all are, there is one row more. So the
--       rows of a minute are at most rows_max and one for each transaction that was open at the same time.
--   A3. Rows of the log are nobody's to change; this adds to the count, with its owner's rights.
--
-- note: { project_id, code, tool_call_id?, principal?, detail? }

create or replace function l0.note_refusals(note_kind text, notes jsonb, moment timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  rows_max constant integer := 10;
  g record;
  there integer;
  written integer;
begin
  for g in
    select n.note ->> 'project_id' as project_id, n.note ->> 'principal' as principal, n.note ->> 'code' as code, jsonb_agg(n.note order by n.ord) as notes
      from jsonb_array_elements(notes) with ordinality n (note, ord) group by 1, 2, 3 order by 1, 2, 3
  loop
    select count(*) into there
      from (select 1 from state.audit_log a
             where a.project_id = g.project_id and a.kind = note_kind and a.principal is not distinct from g.principal
               and a.kind in ('open_call', 'put_result_card', 'report') and a.code = g.code and a.created_at >= date_trunc('minute', moment)
             limit rows_max) a;
    insert into state.audit_log (project_id, kind, code, tool_call_id, principal, detail, created_at)
    select g.project_id, note_kind, g.code, n.note ->> 'tool_call_id', g.principal, coalesce(n.note -> 'detail', '{}'), moment
      from jsonb_array_elements(g.notes) with ordinality n (note, ord) order by n.ord limit rows_max - there;
    get diagnostics written = row_count;
    if written = jsonb_array_length(g.notes) then
      continue;
    end if;
    update state.audit_log a
       set detail = a.detail || jsonb_build_object('left_out', coalesce((a.detail ->> 'left_out')::bigint, 0) + jsonb_array_length(g.notes) - written)
     where a.audit_id = (
             select k.audit_id from state.audit_log k
              where k.project_id = g.project_id and k.kind = note_kind and k.principal is not distinct from g.principal
                and k.kind in ('open_call', 'put_result_card', 'report') and k.code = g.code and k.created_at >= date_trunc('minute', moment)
              order by k.created_at desc, k.audit_id desc limit 1 for no key update skip locked);
    if not found then
      insert into state.audit_log (project_id, kind, code, tool_call_id, principal, detail, created_at)
      select g.project_id, note_kind, g.code, n.note ->> 'tool_call_id', g.principal,
             coalesce(n.note -> 'detail', '{}') || jsonb_build_object('left_out', jsonb_array_length(g.notes) - written - 1), moment
        from jsonb_array_elements(g.notes) with ordinality n (note, ord) where n.ord = written + 1;
    end if;
  end loop;
end $$;

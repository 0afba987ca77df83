-- The only doors of a tool's login (docs/design.md#the-database-has-one-writer): no table, no choice of time,
-- its own name as principal, and the JSON gate again, because what comes through here has not passed the TypeScript one.

create or replace function l0.from_session(items jsonb) returns jsonb
language plpgsql stable as $$
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) > 64 then
    raise exception 'items must be an array of at most 64' using errcode = 'invalid_parameter_value';
  end if;
  -- `target` is the kernel's word that a key was checked; a tool's login has only its ticket.
  return coalesce((select jsonb_agg((i.item - 'target') || jsonb_build_object('principal', session_user) order by i.n)
                     from jsonb_array_elements(items) with ordinality i (item, n)), '[]');
end $$;

-- The content nested no deeper than an author's 64 levels and the envelope's 8, without keys or numbers that JavaScript would misread.
create or replace function l0.gate(items jsonb) returns void
language plpgsql immutable as $$
declare
  level jsonb[] := array[items];
  depth integer := 0;
begin
  if octet_length(items::text) > 4194304 then
    raise exception 'payload_too_large: at most 4 MiB' using errcode = 'program_limit_exceeded';
  end if;
  if items::text ~ '(^|[^\\])"__proto__":' then
    raise exception 'forbidden_key: __proto__' using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_path_exists(items, '$.** ? (@.type() == "number" && (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308))') then
    raise exception 'schema_invalid: a number that JSON readers cannot hold' using errcode = 'numeric_value_out_of_range';
  end if;
  while level is not null loop
    depth := depth + 1;
    if depth > 72 then
      raise exception 'too_deep: at most 64 levels' using errcode = 'program_limit_exceeded';
    end if;
    select array_agg(child) into level
      from unnest(level) parent,
           lateral (select value as child from jsonb_each(case when jsonb_typeof(parent) = 'object' then parent else '{}' end)
                    union all
                    select value from jsonb_array_elements(case when jsonb_typeof(parent) = 'array' then parent else '[]' end)) c
     where jsonb_typeof(child) in ('object', 'array');
  end loop;
end $$;

-- A ticket is no use to a login whose target is bound to others: it is taken off the item, and the opening is refused as forged.
create or replace function l0.without_foreign_tickets(items jsonb) returns jsonb
language plpgsql stable as $$
begin
  return coalesce((
    select jsonb_agg(case when exists (select 1 from resource.target_principals p where p.target = t.target)
                           and not exists (select 1 from resource.target_principals p where p.target = t.target and p.principal = session_user)
                       then i.item - 'ticket' else i.item end order by i.n)
      from jsonb_array_elements(items) with ordinality i (item, n)
      left join lateral (select l0.target_of(c.target_subject) as target from state.calls c where c.tool_call_id = i.item ->> 'tool_call_id') t on true), '[]');
end $$;

create or replace function l0.open_call(items jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return l0.open_call_at(l0.without_foreign_tickets(l0.from_session(items)), null);
end $$;

create or replace function l0.renew_call(items jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return l0.renew_call_at(l0.from_session(items), null);
end $$;

create or replace function l0.put_result_card(items jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  items := l0.from_session(items); -- first: the gate reads all of what may be far too many
  perform l0.gate(items);
  return l0.put_result_card_at(items, null);
end $$;

create or replace function l0.report(items jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  items := l0.from_session(items); -- first: the gate reads all of what may be far too many
  perform l0.gate(items);
  return l0.report_at(items, null);
end $$;

-- Tickets: the right to open a call's next attempt, remade by anyone who may run l0, guessed by nobody
-- (docs/design.md#authority-is-in-the-database).

create or replace function l0.ticket(inner_pad bytea, outer_pad bytea, project_id text, tool_call_id text, attempt integer)
returns text language sql stable parallel safe as $$
  select encode(sha256(outer_pad || sha256(inner_pad || convert_to(project_id || '/' || tool_call_id || '/' || attempt, 'UTF8'))), 'hex')
$$;

-- A ticket of an attempt that was already given away: its bearer is late, not a forger.
create or replace function l0.ticket_was_used(inner_pad bytea, outer_pad bytea, ticket text, project_id text, tool_call_id text, attempt integer)
returns boolean language plpgsql stable as $$
begin
  for n in reverse attempt..greatest(attempt - 15, 1) loop
    if l0.ticket(inner_pad, outer_pad, project_id, tool_call_id, n) = ticket then
      return true;
    end if;
  end loop;
  return false;
end $$;

-- The key of a store that has none yet: one that was made from a prepared snapshot, in which no secret may lie.
create or replace function l0.make_ticket_key() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  secret bytea := '';
  inner_pad bytea;
  outer_pad bytea;
begin
  if exists (select 1 from l0.ticket_keys) then
    return;
  end if;
  for i in 1..4 loop
    secret := secret || uuid_send(gen_random_uuid());
  end loop;
  inner_pad := secret;
  outer_pad := secret;
  for i in 0..63 loop
    inner_pad := set_byte(inner_pad, i, get_byte(secret, i) # 54);
    outer_pad := set_byte(outer_pad, i, get_byte(secret, i) # 92);
  end loop;
  insert into l0.ticket_keys values (1, inner_pad, outer_pad) on conflict (key_id) do nothing;
end $$;

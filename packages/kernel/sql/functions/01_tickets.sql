-- Tickets: the right to open a call's next attempt, remade by anyone who may run l0, guessed by nobody (design D8).

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

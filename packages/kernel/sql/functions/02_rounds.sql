-- Batches that are too long, or name one row twice.
--
-- The hot doors lock a row once per item and write once per row, so a batch with repetitions is answered in rounds: the first item
-- of each row, then the rest, which meet what the first did. The client avoids it (its batches hold one item per head); tools and
-- doubled messages do not.

-- Four times what the client sends is enough for anybody, and what a door costs grows faster than its batch.
create or replace function l0.expect_batch(items jsonb) returns void
language plpgsql immutable as $$
begin
  if jsonb_array_length(items) > 256 then
    raise exception 'payload_too_large: at most 256 items' using errcode = 'program_limit_exceeded';
  end if;
end $$;

create or replace function l0.has_repeats(items jsonb, key text) returns boolean
language plpgsql immutable as $$
begin
  perform l0.expect_batch(items);
  if jsonb_array_length(items) < 2 then
    return false;
  end if;
  return (select count(distinct concat_ws('/', e.item ->> 'project_id', e.item ->> key)) < count(*) from jsonb_array_elements(items) e (item));
end $$;

create or replace function l0.in_rounds(door text, key text, items jsonb, moment timestamptz) returns json
language plpgsql as $$
declare
  firsts jsonb;
  rest jsonb;
  first_places integer[];
  first_answers json;
  rest_answers json;
begin
  select jsonb_agg(r.item order by r.n), array_agg(r.n order by r.n) into firsts, first_places
    from (select e.item, e.n, row_number() over (partition by concat_ws('/', e.item ->> 'project_id', e.item ->> key) order by e.n) as nth
            from jsonb_array_elements(items) with ordinality e (item, n)) r
   where r.nth = 1;
  rest := l0.left_over(items, first_places);
  case door
    when 'report' then
      first_answers := l0.report_at(firsts, moment);
      rest_answers := l0.report_at(rest, moment);
    when 'open_call' then
      first_answers := l0.open_call_at(firsts, moment, true);
      rest_answers := l0.open_call_at(rest, moment, true);
    when 'suspend_on_calls' then
      first_answers := l0.suspend_on_calls(firsts, moment);
      rest_answers := l0.suspend_on_calls(rest, moment);
    when 'resume' then
      first_answers := l0.resume(firsts, moment);
      rest_answers := l0.resume(rest, moment);
  end case;
  return l0.in_place(first_answers, first_places, rest_answers);
end $$;

-- The items that a door left over, in their order.
create or replace function l0.left_over(items jsonb, done integer[]) returns jsonb
language plpgsql immutable as $$
begin
  return (select jsonb_agg(e.item order by e.n)
            from jsonb_array_elements(items) with ordinality e (item, n) where e.n <> all (coalesce(done, '{}')));
end $$;

-- The answers to the items at the places `done`, with those to the rest in between.
create or replace function l0.in_place(answers json, done integer[], rest_answers json) returns json
language plpgsql immutable as $$
declare
  total integer := coalesce(cardinality(done), 0) + json_array_length(rest_answers);
begin
  if done is null then
    return rest_answers;
  end if;
  return (select json_agg(a.answer order by a.n)
            from (select done[f.n] as n, f.answer from json_array_elements(answers) with ordinality f (answer, n)
                  union all
                  select p.n, rest_answers -> (row_number() over (order by p.n) - 1)::integer
                    from generate_series(1, total) p (n) where p.n <> all (done)) a);
end $$;

-- Answers collected under their item's number while rows were locked in key order, put back in item order.
create or replace function l0.in_item_order(answers jsonb, items jsonb) returns json
language plpgsql immutable as $$
begin
  return coalesce((select json_agg(answers -> n::text order by n) from generate_series(1, jsonb_array_length(items)) n), '[]');
end $$;

-- compat: expand
-- Cards and boxes: what was said, by whom, in which order. Rows are written once and never change.
--
--   C1. A card's row never changes and never goes (the triggers below); a correction is another card.
--   C2. A card that is made in a box carries its place (box_id, pos) itself, so that an append writes one row.
--       card.box_cards holds the places of cards that live elsewhere.
--   C3. Positions of tool results are reserved when the calls are made, in call order: whatever order results
--       arrive in, a box reads call, call, result, result.
--   C4. The hot tables (cards, calls, heads, events) have enum types and no CHECK constraints: PostgreSQL reads every CHECK of a
--       table again for every statement that writes it, which was a fifth of the cost of a call. The invariants hold what they said.

create schema card;
create schema resource;
create schema state;

create table card.boxes (
  box_id      text collate "C" primary key,
  project_id  text collate "C" not null,
  -- The single writer of an output box. Null: sealed when it was made (profile and context boxes).
  agent_id    text collate "C",
  created_at  timestamptz not null
);

create table card.cards (
  card_id         text collate "C" primary key,
  project_id      text collate "C" not null,
  type            text collate "C" not null,
  author_id       text collate "C" not null,
  agent_turn_id   text collate "C",
  step_id         text collate "C",
  tool_call_id    text collate "C",
  trace_id        text collate "C",
  parent_step_id  text collate "C",
  function_name   text collate "C",
  box_id          text collate "C",
  pos             integer,
  content         jsonb not null,
  tool_calls      jsonb,
  metadata        jsonb,
  ttl_seconds     integer,
  sha256          bytea not null,
  created_at      timestamptz not null
);
create unique index cards_by_place on card.cards (box_id, pos) where box_id is not null;

create table card.box_cards (
  box_id      text collate "C" not null references card.boxes,
  pos         integer not null,
  card_id     text collate "C" not null,
  project_id  text collate "C" not null,
  primary key (box_id, pos)
);

create function card.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'cards are immutable: % on card.% is refused; write a new card instead', tg_op, tg_table_name
    using errcode = 'restrict_violation';
end $$;
create trigger cards_are_immutable before update or delete on card.cards
  for each row execute function card.refuse_change();
create trigger box_cards_are_immutable before update or delete on card.box_cards
  for each row execute function card.refuse_change();
create trigger cards_are_kept before truncate on card.cards
  for each statement execute function card.refuse_change();

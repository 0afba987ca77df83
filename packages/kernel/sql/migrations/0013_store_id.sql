-- compat: expand
-- Which store this is: what two stores on one broker are told apart by (decision 37). The id follows from a random part and from the
-- place of the database, so that a dump that is restored in another place is another store (a copy of its files is not). `migrate` writes the random part; a prepared
-- store that others are copied from has none.

create table l0.store (
  only_row boolean primary key default true check (only_row),
  random_part uuid not null
);
comment on table l0.store is 'the random part of the id of this store';

-- Every process asks for it when it starts: whoever may read which migrations a store has may read this. deploy/roles.sql says the same.
do $$
declare
  reader text;
begin
  for reader in
    select a.grantee::regrole::text
    from pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
    where c.oid = 'l0.migrations'::regclass and a.privilege_type = 'SELECT' and a.grantee <> 0 and a.grantee <> c.relowner
  loop
    execute format('grant select on l0.store to %s', reader);
  end loop;
end $$;

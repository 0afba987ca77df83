-- compat: expand
-- Which build's functions a store has: their level grows with every change of them (sql/functions.log), so that two builds can tell
-- whose are older. Null: installed by a build that knew no levels, and so older than any that does.

alter table l0.functions_installed add column level integer;
comment on column l0.functions_installed.level is 'how many times the functions had changed when the build that installed them was made';

-- Every process compares it when it starts: whoever may read which migrations a store has may read this. deploy/roles.sql says the same.
do $$
declare
  reader text;
begin
  for reader in
    select a.grantee::regrole::text
    from pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
    where c.oid = 'l0.migrations'::regclass and a.privilege_type = 'SELECT' and a.grantee <> 0 and a.grantee <> c.relowner
  loop
    execute format('grant select on l0.functions_installed to %s', reader);
  end loop;
end $$;

-- API keys (K1, K2 in migration 0005). The secret itself never reaches the database.

-- item: { key_id, secret_sha256 (hex), project_id?, role, targets?, label?, expires_in_ms?, delegation_policy? }, or { key_id, project_id?, revoked: true }
-- answer: accepted, duplicate (the same key again; already revoked), or rejected with not_found (project or key), conflict (id taken).
create or replace function l0.put_api_keys(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  kept resource.api_keys;
  answers json[] := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from jsonb_to_recordset(items) as e (key_id text, secret_sha256 text, project_id text, role text, targets text[], label text,
      expires_in_ms bigint, revoked boolean, delegation_policy jsonb)
  loop
    select * into kept from resource.api_keys k where k.key_id = i.key_id for update;
    if coalesce(i.revoked, false) then
      if kept.key_id is null or i.project_id is not null and kept.project_id is distinct from i.project_id then
        answers := answers || json_build_object('outcome', 'rejected', 'code', 'not_found');
      elsif kept.revoked_at is not null then
        answers := answers || json_build_object('outcome', 'duplicate');
      else
        update resource.api_keys k set revoked_at = moment where k.key_id = i.key_id;
        answers := answers || json_build_object('outcome', 'accepted');
      end if;
    elsif kept.key_id is not null then
      -- A lost answer is asked for again; nobody else can know the hash of a secret that was just made.
      answers := answers || case when encode(kept.secret_sha256, 'hex') = i.secret_sha256
        then json_build_object('outcome', 'duplicate') else json_build_object('outcome', 'rejected', 'code', 'conflict') end;
    elsif i.project_id is not null and not l0.living_project(i.project_id) then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'not_found');
    else
      insert into resource.api_keys (key_id, secret_sha256, project_id, role, targets, label, created_at, expires_at, delegation_policy)
      values (i.key_id, decode(i.secret_sha256, 'hex'), i.project_id, i.role, coalesce(i.targets, '{}'), coalesce(i.label, ''), moment,
              moment + i.expires_in_ms * interval '1 millisecond', i.delegation_policy);
      answers := answers || json_build_object('outcome', 'accepted');
    end if;
  end loop;
  return array_to_json(answers);
end $$;

-- The key of this id as long as it counts; null when there is none, or it is revoked or expired. The caller compares the hash.
create or replace function l0.living_api_key(wanted text, at timestamptz) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
begin
  return (
    select json_build_object('key_id', k.key_id, 'secret_sha256', encode(k.secret_sha256, 'hex'), 'project_id', k.project_id, 'role', k.role,
                             'targets', k.targets, 'delegation_policy', k.delegation_policy, 'expires_in_ms', ceil(extract(epoch from k.expires_at - moment) * 1000),
                             'is_use_noted', coalesce(k.last_used_at > moment - interval '5 minutes', false))
      from resource.api_keys k
     where k.key_id = wanted and k.revoked_at is null and coalesce(k.expires_at > moment, true));
end $$;

-- Not worth waiting for: where another session has the row locked, a later use is noted.
create or replace function l0.note_api_key_use(used text, at timestamptz) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
begin
  update resource.api_keys k set last_used_at = moment
    from (select u.key_id from resource.api_keys u
           where u.key_id = used and coalesce(u.last_used_at <= moment - interval '5 minutes', true) for no key update skip locked) u
   where k.key_id = u.key_id;
  return json_build_object('outcome', 'accepted');
end $$;

-- People who signed in at the OpenID provider: docs/guides/sign-in.md#sign-ins. Present state, not record: beginnings
-- and ends are events of the audit.

create table sign_in (
  sign_in_id uuid primary key,
  -- SHA-256 of the cookie's value, which is kept nowhere.
  cookie_hash bytea not null unique,
  issuer text not null,
  subject text not null,
  name text,
  email text,
  -- Values of the claim that gives roles.
  groups text[] not null,
  -- base64url(SHA-256) of the ID token.
  id_token_hash text not null,
  begun_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  ended_by text,
  constraint an_end_is_whole check ((ended_at is null) = (ended_by is null))
);
create index sign_in_by_expiry on sign_in (expires_at);
create index sign_in_by_subject on sign_in (subject, sign_in_id desc);

-- A batch of what ended a day ago or longer, so that no clock that runs behind still counts on it; how many went.
create or replace function purge_ended() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  -- The enrollment that used a token is what makes it useless, so it stays for as long as the token could be used.
  with enrollments as (
    delete from enrollment where ctid = any (array(
      select e.ctid from enrollment e left join enroll_token t on t.token_hash = e.enroll_token_hash
      where e.expires_at < now() - interval '1 day' and (t.expires_at is null or t.expires_at < now() - interval '1 day')
      limit 5000))
    returning 1
  ), tokens as (
    -- One that was used follows in the batch after its enrollment's.
    delete from enroll_token where ctid = any (array(
      select t.ctid from enroll_token t where t.expires_at < now() - interval '1 day'
        and not exists (select from enrollment e where e.enroll_token_hash = t.token_hash)
      limit 5000))
    returning 1
  ), blocks as (
    delete from block where until < now() - interval '1 day' returning 1
  ), sign_ins as (
    delete from sign_in where ctid = any (array(
      select ctid from sign_in where expires_at < now() - interval '1 day' limit 5000))
    returning 1
  ), keys as (
    -- Whatever a superseded key signed has expired within a day (specification: Limits, `ttl_seconds`). Those that were
    -- removed by hand stay: what is left of them says so.
    delete from signing_key where kid in (
      select kid from (
        select kid, lead(activates_at) over (order by activates_at, created_at) as superseded_at
        from signing_key where removed_at is null
      ) key
      where superseded_at < now() - interval '2 days')
    returning 1
  )
  select (select count(*) from enrollments)::int + (select count(*) from tokens)::int
    + (select count(*) from blocks)::int + (select count(*) from sign_ins)::int + (select count(*) from keys)::int;
end;

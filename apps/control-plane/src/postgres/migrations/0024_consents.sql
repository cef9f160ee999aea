-- What people answered on the consent page, and what clients of the authorization server hold (docs/reference/oauth.md).
-- Codes, handles and refresh tokens are kept as their SHA-256. Nothing is a record: the events tell what was consented to.

-- The key decides that a question is answered once.
create table consent_answer (
  question_id uuid primary key,
  answered_at timestamptz not null,
  expires_at timestamptz not null
);
create index consent_answer_by_expiry on consent_answer (expires_at);

-- A session that a person consented to for the sake of another one, which its agent holds.
create table session_beside (
  session_id uuid primary key references session,
  beside uuid not null references session,
  -- The one session that none of its family is beside: what one of them learns is known to all (see marks.ts).
  family uuid not null references session,
  -- The agent that holds the other session, and the one that acts in this one.
  holder text not null,
  agent text not null,
  expires_at timestamptz not null
);
create index session_beside_of on session_beside (beside);
create index session_beside_in_family on session_beside (family);
create index session_beside_by_expiry on session_beside (expires_at);

-- What a client was granted: a session, for one resource.
create table oauth_grant (
  grant_id uuid primary key,
  session_id uuid not null unique references session,
  agent text not null,
  client_id text not null,
  resource text not null,
  scopes text[] not null,
  -- SHA-256 of the code, or of the assertion's issuer and `jti`: each begins one grant.
  begun_with bytea not null unique,
  -- Of a code; null for an assertion.
  code_challenge text,
  redirect_uri text,
  code_expires_at timestamptz,
  expires_at timestamptz not null,
  constraint a_code_is_whole
    check ((code_challenge is null) = (redirect_uri is null) and (code_challenge is null) = (code_expires_at is null))
);
create index oauth_grant_by_expiry on oauth_grant (expires_at);

create table oauth_token (
  token_hash bytea primary key,
  grant_id uuid not null references oauth_grant,
  kind text not null check (kind in ('access', 'refresh')),
  -- What it was issued for is spent by it: a code, a refresh token, an assertion.
  issued_for bytea not null,
  expires_at timestamptz not null,
  unique (issued_for, kind)
);
create index oauth_token_of_grant on oauth_token (grant_id);
create index oauth_token_by_expiry on oauth_token (expires_at);

do $$
declare
  name text;
begin
  foreach name in array array['consent_answer', 'session_beside', 'oauth_grant', 'oauth_token'] loop
    execute format('create trigger append_only before update or delete on %I for each row execute function refuse_change_unless_lapsed()', name);
    execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', name);
    execute format('alter table %I enable always trigger append_only, enable always trigger append_only_whole', name);
  end loop;
end
$$;

-- A batch of what ended a day ago or longer, sign-ins too; how many went. A grant goes in the batch after its tokens.
create function purge_past_consents() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  with sign_ins as (
    delete from sign_in where ctid = any (array(
      select ctid from sign_in where expires_at < now() - interval '1 day' limit 5000)) returning 1
  ), answers as (
    delete from consent_answer where ctid = any (array(
      select ctid from consent_answer where expires_at < now() - interval '1 day' limit 5000)) returning 1
  ), besides as (
    delete from session_beside where ctid = any (array(
      select ctid from session_beside where expires_at < now() - interval '1 day' limit 5000)) returning 1
  ), tokens as (
    delete from oauth_token where ctid = any (array(
      select ctid from oauth_token where expires_at < now() - interval '1 day' limit 5000)) returning 1
  ), grants as (
    delete from oauth_grant where ctid = any (array(
      select g.ctid from oauth_grant g where g.expires_at < now() - interval '1 day'
        and not exists (select from oauth_token t where t.grant_id = g.grant_id)
      limit 5000)) returning 1
  )
  select (select count(*) from sign_ins)::int + (select count(*) from answers)::int
    + (select count(*) from besides)::int + (select count(*) from tokens)::int + (select count(*) from grants)::int;
end;
revoke execute on function purge_past_consents() from public;

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

-- How an agent comes to a pinned key, and how the list of those that lost theirs is read.

-- Good for one enrollment, which names the token: the unique key there decides that no second one does.
create table enroll_token (
  token_hash bytea primary key,
  agent_id uuid not null references agent,
  issued_by text not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null
);

create table enrollment (
  enrollment_id uuid primary key,
  agent_id uuid not null references agent,
  jwk jsonb not null,
  thumbprint text not null,
  challenge text not null,
  -- JSON as the agent said it, kept as text: jsonb does not take every JSON string.
  claims text,
  principal_issuer text,
  principal_sub text,
  quarantine_reason text,
  -- Null where an enroll token was enough.
  begun_by text,
  enroll_token_hash bytea unique references enroll_token,
  begun_at timestamptz not null,
  expires_at timestamptz not null,
  tries int not null default 0 check (tries <= 3),
  completed_at timestamptz,
  constraint somebody_vouches check (begun_by is not null or enroll_token_hash is not null),
  constraint a_principal_or_a_reason check ((principal_issuer is null) = (quarantine_reason is not null)),
  constraint a_principal_is_whole check ((principal_issuer is null) = (principal_sub is null))
);

create trigger append_only before update or delete on enroll_token for each row execute function refuse_change();
create trigger append_only_whole before truncate on enroll_token for each statement execute function refuse_change();
alter table enroll_token enable always trigger append_only, enable always trigger append_only_whole;

-- Milliseconds, as on the wire: a cursor must name exactly the row it was made of.
alter table revocation alter column as_of type timestamptz(3);
create index revocation_by_time on revocation (as_of, agent_id);

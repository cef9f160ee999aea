-- Everything a decision needs and everything it leaves behind. Tables of record are append-only by force of the
-- database: see the triggers at the end.

-- A name is an agent's or a tool's, never both: the second comer is refused by this key.
create table claimed_name (
  name text primary key,
  kind text not null check (kind in ('agent', 'tool'))
);

create table agent (
  agent_id uuid primary key,
  name text not null unique,
  created_at timestamptz not null
);

create table manifest_version (
  agent_id uuid not null references agent,
  version int not null check (version >= 1),
  status text not null check (status in ('reconciled', 'attested', 'rejected', 'needs_review')),
  attested_by text,
  attestation_reason text,
  -- The manifest exactly as submitted: jsonb would forget member order and number spelling.
  doc text not null,
  created_at timestamptz not null,
  primary key (agent_id, version)
);

create table manifest_scope (
  agent_id uuid not null,
  version int not null,
  scope text not null,
  primary key (agent_id, version, scope),
  foreign key (agent_id, version) references manifest_version
);
create index manifest_scope_by_scope on manifest_scope (scope);

-- Kept for refused first registrations too, which have neither agent nor version.
create table reconciliation_report (
  report_id uuid primary key,
  agent_name text not null,
  agent_id uuid,
  manifest_version int,
  status text not null check (status in ('reconciled', 'attested', 'rejected', 'needs_review')),
  discovery_ok boolean not null,
  diff jsonb not null,
  checked_at timestamptz not null
);
create index reconciliation_report_by_agent on reconciliation_report (agent_id, manifest_version desc);

create table compiled_policy (
  scope text not null,
  version int not null check (version >= 1),
  schema_version int not null,
  -- Equal graphs are equal bytes, so text.
  document text not null,
  created_at timestamptz not null,
  primary key (scope, version)
);

create table session (
  session_id uuid primary key,
  user_sub text not null,
  scope text not null,
  policy_version int not null,
  hop_budget int not null,
  consented_by text not null,
  consented_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (scope, policy_version) references compiled_policy
);
create index session_by_user on session (user_sub, session_id desc);
create index session_by_scope on session (scope, session_id desc);
-- For ending what still runs.
create index session_by_expiry on session (expires_at);

-- A writer of a session's end or of a taint mark puts a fresh random value into `epoch` under this row's lock; a
-- decision's insert carries the value it was made under in its own WHERE. Random, not counted: after a failover a
-- counter could climb back to a number that a decision still holds.
create table session_state (
  session_id uuid primary key references session,
  epoch uuid not null default gen_random_uuid(),
  revoked_at timestamptz,
  revoked_by text,
  revoked_reason text
);

-- The same for what concerns all sessions: revocations, blocks, issuer keys.
create table denial_epoch (
  only_row boolean primary key default true check (only_row),
  epoch uuid not null default gen_random_uuid()
);
insert into denial_epoch default values;

-- Partitioned by the month in which its time-ordered identifier was made (RFC 9562 section 5.7), so that a month can go
-- as a whole once its life is over. What no month covers goes to the default partition.
create table decision (
  action_id uuid primary key,
  -- The order of the log; a clock may step, this does not.
  seq bigint generated always as identity,
  record_version int not null,
  session_id uuid not null,
  stage text not null check (stage in ('authorize', 'exchange', 'mint')),
  hop int not null check (hop >= 1),
  chain text[] not null,
  acting_agent text not null,
  target text not null,
  target_kind text not null check (target_kind in ('tool', 'agent')),
  data_class text not null,
  decision text not null check (decision in ('allow', 'deny')),
  deny_reason text,
  recoverable boolean not null,
  enforced boolean not null,
  privileged boolean not null,
  taint text not null check (taint in ('trusted_internal', 'untrusted_external')),
  taint_source text,
  policy_version int not null,
  guarantee_level text,
  parent_action_id uuid,
  decided_at timestamptz not null,
  -- The present state that the verdict was made under, as far as it is not the ordinary one; null where it was.
  present jsonb,
  constraint reason_exactly_for_denies check ((decision = 'deny') = (deny_reason is not null))
) partition by range (action_id);
create table decision_default partition of decision default;
create index decision_in_order on decision (seq desc);
create index decision_by_session on decision (session_id, seq desc);
create index decision_by_agent on decision (acting_agent, seq desc);
create index decision_by_reason on decision (deny_reason, seq desc) where decision = 'deny';
create index decision_denied on decision (seq desc) where decision = 'deny';
create index decision_observed on decision (seq desc) where not enforced;
create index decision_privileged on decision (seq desc) where privileged;
create index decision_tainted on decision (seq desc) where taint = 'untrusted_external';
create index decision_by_time on decision (decided_at);
create index decision_delegations on decision (session_id) where target_kind = 'agent';
-- Data classes by their hash: a list of them may be longer than an index takes.
create index decision_would_block on decision (acting_agent, target, target_kind, deny_reason, md5(data_class))
  where not enforced and decision = 'deny';

-- The single use of a token and of an allow: the two unique keys decide it, together.
create table spend (
  jti_hash bytea primary key,
  action_id uuid unique,
  session_id uuid not null,
  kind text not null check (kind in ('exchange', 'renewal')),
  -- The agent whose key proved possession, and the proof it used up.
  prover text,
  proof_jti_hash bytea unique,
  spent_at timestamptz not null,
  -- A renewal is an event of the audit: its identifier there, who acted, and the agent where it was not the human.
  renewal_id uuid,
  actor text,
  agent text,
  constraint an_exchange_spends_an_allow check ((kind = 'exchange') = (action_id is not null)),
  constraint a_renewal_is_an_event
    check ((kind = 'renewal') = (renewal_id is not null) and (kind = 'renewal') = (actor is not null))
);
create unique index spend_renewals on spend (renewal_id desc) where kind = 'renewal';
create index spend_renewals_by_session on spend (session_id, renewal_id desc) where kind = 'renewal';
create index spend_renewals_by_agent on spend (agent, renewal_id desc) where kind = 'renewal';

create table mint (
  action_id uuid primary key,
  session_id uuid not null,
  params_hash text not null,
  prover text,
  proof_jti_hash bytea unique,
  minted_at timestamptz not null
);

-- A null member is the human: an agent may bear the human's name.
create table taint_mark (
  session_id uuid not null,
  member text,
  source text not null,
  action_id uuid not null,
  marked_at timestamptz not null
);
create unique index taint_mark_once on taint_mark (session_id, member) nulls not distinct;

create table agent_identity (
  agent_id uuid primary key references agent,
  agent text not null unique,
  status text not null check (status in ('enrolled', 'quarantined')),
  reason text,
  anchor_version int not null,
  jwk jsonb,
  thumbprint text unique,
  principal_issuer text,
  principal_sub text,
  as_of timestamptz not null
);

-- Final for an agent id. `recorded_in` lets a reader stop before a revocation that is not committed yet.
create table revocation (
  agent_id uuid primary key references agent,
  agent text not null unique,
  reason text,
  as_of timestamptz not null,
  recorded_in xid8 not null default pg_current_xact_id()
);

create table block (
  kind text not null check (kind in ('tool', 'agent', 'scope')),
  ref text not null,
  reason text not null,
  until timestamptz,
  created_at timestamptz not null,
  primary key (kind, ref)
);

create table signing_key (
  kid text primary key,
  public_jwk jsonb not null,
  -- The private half and the public one with it, authenticated: whoever can only write here vouches for no key. Null
  -- from the removal on.
  sealed_private_jwk text,
  created_at timestamptz not null,
  -- It signs from then on until the next key does, and stays published until every token it signed has expired.
  activates_at timestamptz not null,
  removed_at timestamptz,
  constraint a_removed_key_is_destroyed check ((removed_at is null) = (sealed_private_jwk is not null))
);

-- Tokens issued before `not_before` are refused: raised after a restore, which forgets spends and revocations.
create table issuer_epoch (
  only_row boolean primary key default true check (only_row),
  not_before timestamptz
);
insert into issuer_epoch default values;

-- In the order of their time-ordered identifiers. Renewals are not among them: their spends say the same.
create table administrative_event (
  event_id uuid primary key,
  kind text not null,
  ts timestamptz not null,
  actor text not null,
  session_id uuid,
  agent text,
  reason text,
  details jsonb not null default '{}'
);
create index administrative_event_by_kind on administrative_event (kind, event_id desc);
create index administrative_event_by_session on administrative_event (session_id, event_id desc);
create index administrative_event_by_agent on administrative_event (agent, event_id desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'table % is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

do $$
declare
  record_table text;
begin
  foreach record_table in array array[
    'claimed_name', 'agent', 'manifest_version', 'manifest_scope', 'reconciliation_report', 'compiled_policy',
    'session', 'decision', 'spend', 'mint', 'taint_mark', 'revocation', 'administrative_event'
  ] loop
    execute format('create trigger append_only before update or delete on %I for each row execute function refuse_change()', record_table);
    execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', record_table);
    -- ALWAYS: also under session_replication_role = replica.
    execute format('alter table %I enable always trigger append_only', record_table);
    execute format('alter table %I enable always trigger append_only_whole', record_table);
  end loop;
end
$$;

-- A statement's trigger is not inherited: every partition needs its own.
create trigger append_only_whole before truncate on decision_default for each statement execute function refuse_change();
alter table decision_default enable always trigger append_only_whole;

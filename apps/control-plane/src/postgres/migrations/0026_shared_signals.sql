-- Security event tokens of the identity provider that had their effect (docs/reference/shared-signals.md), as the SHA-256 of
-- issuer and `jti`. For two days: an older token has no effect. What they ended is in the record.
create table received_set (
  token_hash bytea primary key,
  expires_at timestamptz not null default now() + interval '1 day'
);
create index received_set_by_expiry on received_set (expires_at);

create trigger append_only before update or delete on received_set
  for each row execute function refuse_change_unless_lapsed();
create trigger append_only_whole before truncate on received_set for each statement execute function refuse_change();
alter table received_set enable always trigger append_only, enable always trigger append_only_whole;

-- A batch of those whose day is over for a day or longer; how many went.
create function purge_received_sets() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  with gone as (
    delete from received_set where ctid = any (array(
      select ctid from received_set where expires_at < now() - interval '1 day' limit 5000)) returning 1
  )
  select count(*)::int from gone;
end;
revoke execute on function purge_received_sets() from public;

-- Streams of security events to receivers. Present state, not record: what is sent is in the record.
create table signal_stream (
  stream_id uuid primary key,
  -- The label of its bearer. A receiver has one stream.
  receiver text not null unique,
  -- Where events are pushed to; null for a receiver that polls.
  endpoint_url text,
  -- Sealed with a key of the processes.
  sealed_authorization text,
  events_requested text[] not null,
  description text,
  status text not null default 'enabled' check (status in ('enabled', 'paused', 'disabled')),
  status_reason text,
  -- Each pushed event up to here was answered, and those in the list. The order is that of pushed_event.
  position_transaction xid8 not null,
  position_event uuid not null,
  answered uuid[] not null default '{}',
  -- When events were last answered or asked for, or the stream enabled.
  active_at timestamptz not null default now(),
  -- An event about the stream itself that waits: a verification, or a change of its status.
  own_event jsonb,
  -- Who pushes, until when; when to try again, after how many failures.
  lease uuid,
  leased_until timestamptz not null default now(),
  retry_at timestamptz not null default now(),
  failures int not null default 0
);

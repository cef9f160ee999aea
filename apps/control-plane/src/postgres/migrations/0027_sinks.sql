-- How far each sink has the record: docs/guides/siem.md#what-is-guaranteed. Present state, not record: the sealed rows are the outbox.
create table sink (
  name text primary key,
  -- Delivered whole.
  batch bigint not null check (batch >= 0),
  -- Of the batch after it, entries of its list that were delivered.
  entries int not null default 0 check (entries >= 0),
  -- The process that delivers.
  holder uuid,
  held_until timestamptz not null default '-infinity',
  delivered_at timestamptz,
  -- Since the last delivery.
  failures int not null default 0 check (failures >= 0),
  failing_since timestamptz,
  last_error text,
  retry_at timestamptz not null default '-infinity',
  constraint a_failure_is_whole check ((failures = 0) = (failing_since is null) and (failures = 0) = (last_error is null))
);

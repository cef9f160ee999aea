-- Events that enforcement points and verifiers get pushed (docs/reference/identity.md#push), for a day. `recorded_in` lets
-- a reader tell each once and miss none that commits late. The event itself is in the record, and sealed there.
create table pushed_event (
  event_id uuid not null references administrative_event,
  recorded_in xid8 not null default pg_current_xact_id(),
  expires_at timestamptz not null default now()
);
create index pushed_event_in_order on pushed_event (recorded_in);
create index pushed_event_by_expiry on pushed_event (expires_at);

create trigger append_only before update or delete on pushed_event
  for each row execute function refuse_change_unless_lapsed();
create trigger append_only_whole before truncate on pushed_event for each statement execute function refuse_change();
alter table pushed_event enable always trigger append_only, enable always trigger append_only_whole;

-- A batch of those of a day ago or longer; how many went.
create function purge_pushed_events() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  with gone as (
    delete from pushed_event where ctid = any (array(
      select ctid from pushed_event where expires_at < now() - interval '1 day' limit 5000)) returning 1
  )
  select count(*)::int from gone;
end;
revoke execute on function purge_pushed_events() from public;

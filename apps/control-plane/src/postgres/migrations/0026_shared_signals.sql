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

-- Months of the log: made ahead, and dropped once their life is over. The service may call the functions at the end and
-- nothing more: they take no argument, and how long records live is the owner's word alone.

create table retention (
  only_row boolean primary key default true check (only_row),
  -- How many whole months a month of decisions is kept after its own; null: for ever.
  keep_months int check (keep_months >= 1)
);
insert into retention default values;

-- Where a month starts among the time-ordered identifiers (RFC 9562 section 5.7: 48 bits of milliseconds come first).
create function first_id_of(month date) returns uuid language sql immutable strict
return (lpad(to_hex((extract(epoch from month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

create function months_after(month date, months int) returns date language sql immutable strict
return (month + make_interval(months => months))::date;

create function this_month() returns date language sql stable
return date_trunc('month', now() at time zone 'UTC')::date;

-- What was dropped; spends and mints of these identifiers may follow, and no other.
create table retired_month (
  month date primary key,
  retired_at timestamptz not null default now()
);

create function is_retired(id uuid) returns boolean language sql stable
return exists (select from public.retired_month where id >= public.first_id_of(month)
  and id < public.first_id_of(public.months_after(month, 1)));

create function refuse_change_unless_retired() returns trigger language plpgsql as $$
declare
  id uuid := old.action_id;
begin
  if tg_table_name = 'spend' then
    id := coalesce(id, old.renewal_id);
  end if;
  if tg_op = 'DELETE' and public.is_retired(id) then
    return old;
  end if;
  raise exception 'table % is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create or replace trigger append_only before update or delete on spend
  for each row execute function refuse_change_unless_retired();
alter table spend enable always trigger append_only;
create or replace trigger append_only before update or delete on mint
  for each row execute function refuse_change_unless_retired();
alter table mint enable always trigger append_only;

create trigger append_only before update or delete on retired_month for each row execute function refuse_change();
alter table retired_month enable always trigger append_only;
create trigger append_only_whole before truncate on retired_month for each statement execute function refuse_change();
alter table retired_month enable always trigger append_only_whole;

-- When the house was last kept, by whichever process did.
create table housekeeping (
  only_row boolean primary key default true check (only_row),
  ran_at timestamptz
);
insert into housekeeping default values;

create function partition_of(month date) returns text language sql immutable strict
return 'decision_' || to_char(month, 'YYYY_MM');

-- Attaching locks only the new partition and the default one, so that decisions go on being written. A month of which
-- the default partition holds rows already stays there.
create function make_decision_partition(month date) returns void language plpgsql
set search_path = public, pg_temp as $$
declare
  part text := partition_of(month);
begin
  execute format('create table %I (like decision including defaults including constraints including indexes)', part);
  execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', part);
  execute format('alter table %I enable always trigger append_only_whole', part);
  execute format('alter table decision attach partition %I for values from (%L) to (%L)', part, first_id_of(month), first_id_of(months_after(month, 1)));
exception when check_violation then
  raise warning 'decisions of % stay in the default partition', month;
end
$$;

-- This month and the next two; how many were made.
create function make_decision_partitions() returns int language plpgsql security definer
set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  made int := 0;
  month date;
begin
  for ahead in 0..2 loop
    month := months_after(this_month(), ahead);
    continue when to_regclass('public.' || partition_of(month)) is not null;
    perform make_decision_partition(month);
    made := made + 1;
  end loop;
  return made;
end
$$;

-- Drops the oldest month that is past its life, if any; null when none is left.
create function retire_oldest_month() returns date language plpgsql security definer
set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  oldest date;
  keep int := (select keep_months from retention);
begin
  select to_date(right(c.relname, 7), 'YYYY_MM') into oldest
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.decision'::regclass and c.relname ~ '^decision_\d{4}_\d{2}$'
    and months_after(to_date(right(c.relname, 7), 'YYYY_MM'), 1 + keep) <= this_month()
  order by 1 limit 1;
  if oldest is null then
    return null;
  end if;
  insert into retired_month (month) values (oldest);
  execute format('drop table %I', partition_of(oldest));
  return oldest;
end
$$;

-- A batch of spends and mints whose decisions were dropped; how many went.
create function purge_retired_spends() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  with spends as (
    delete from spend where ctid = any (array(
      select s.ctid from retired_month m join spend s
        on s.action_id >= first_id_of(m.month) and s.action_id < first_id_of(months_after(m.month, 1))
      union all
      select s.ctid from retired_month m join spend s on s.kind = 'renewal'
        and s.renewal_id >= first_id_of(m.month) and s.renewal_id < first_id_of(months_after(m.month, 1))
      limit 5000))
    returning 1
  ), mints as (
    delete from mint where ctid = any (array(
      select n.ctid from retired_month m join mint n
        on n.action_id >= first_id_of(m.month) and n.action_id < first_id_of(months_after(m.month, 1))
      limit 5000))
    returning 1
  )
  select (select count(*) from spends)::int + (select count(*) from mints)::int;
end;

revoke execute on function make_decision_partition(date), make_decision_partitions(), retire_oldest_month(),
  purge_retired_spends() from public;

select make_decision_partitions();

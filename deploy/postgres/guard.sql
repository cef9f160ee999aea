-- A safety catch around the record. The schema's triggers refuse to change a row, the owner's own statements included;
-- this refuses to take those triggers, or the tables, away. A superuser runs it in the service's database after the first
-- start, and again after an upgrade, since tables of record may have come along:
--
--   psql --dbname svc --file guard.sql
--
-- The service, its months and retention go on as before. A migration that has to replace a guarded thing says so in the
-- change log; take the catch off for it, and put it back by running this file:
--
--   drop event trigger guard_record; drop event trigger guard_record_drop;

create schema if not exists record_guard;
grant usage on schema record_guard to public;

create table if not exists record_guard.record_table (name text primary key);
grant select on record_guard.record_table to public;
insert into record_guard.record_table
  select c.relname from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where t.tgname = 'append_only' and c.relnamespace = 'public'::regnamespace
    and (not c.relispartition or c.relname = 'decision_default')
on conflict do nothing;

-- The guard belongs to the role that installs it, so that the owner cannot replace it.
do $$
declare
  guard regprocedure;
begin
  foreach guard in array array[
    'public.refuse_change()', 'public.refuse_change_unless_retired()', 'public.is_retired(uuid)',
    'public.refuse_change_unless_lapsed()', 'public.first_id_of(date)', 'public.months_after(date, integer)'
  ]::regprocedure[] loop
    execute format('alter function %s owner to %I', guard, current_user);
  end loop;
end
$$;

-- After a change of any table: each table of record keeps its name and refuses changes, each month too, and no month with
-- rows is detached from the log.
create or replace function record_guard.after_change() returns event_trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  faulty text;
begin
  with refusing as (
    select tgrelid from pg_trigger
    where tgname in ('append_only', 'append_only_whole') and tgenabled = 'A' and tgqual is null and tgattr = ''
      and tgfoid in ('public.refuse_change()'::regprocedure, 'public.refuse_change_unless_retired()'::regprocedure,
        'public.refuse_change_unless_lapsed()'::regprocedure)
    group by tgrelid having count(*) = 2
  ), month as (
    select inhrelid as oid, relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'public.decision'::regclass
  )
  select name into faulty from record_guard.record_table
  where not exists (select from refusing where tgrelid = to_regclass('public.' || quote_ident(name)))
  union all
  select relname from month
  where relname !~ '^decision_(default|\d{4}_\d{2})$' or oid not in (select tgrelid from refusing)
  union all
  select relname from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r' and relname ~ '^decision_\d{4}_\d{2}$'
    and oid not in (select oid from month) and pg_relation_size(oid) > 0
  limit 1;
  if faulty is not null then
    raise exception 'table % would no longer be append-only', faulty using errcode = 'insufficient_privilege';
  end if;
end
$$;

-- A table of record cannot be dropped, nor a month before the retention that the owner set; a guard goes only with its
-- table.
create or replace function record_guard.after_drop() returns event_trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  kept text;
begin
  select object_identity into kept from pg_event_trigger_dropped_objects()
  where schema_name = 'public' and case
    when object_type = 'trigger' then
      address_names[3] in ('append_only', 'append_only_whole')
      and to_regclass(format('%I.%I', address_names[1], address_names[2])) is not null
    when object_type <> 'table' then false
    when object_name ~ '^decision_\d{4}_\d{2}$' then
      not coalesce((
        select to_date(right(object_name, 7), 'YYYY_MM') + make_interval(months => 1 + keep_months)
          <= date_trunc('month', now() at time zone 'UTC')
        from public.retention), false)
    else object_name in (select name from record_guard.record_table)
  end
  limit 1;
  if kept is not null then
    raise exception '% is part of the record', kept using errcode = 'insufficient_privilege';
  end if;
end
$$;

drop event trigger if exists guard_record;
create event trigger guard_record on ddl_command_end
  when tag in ('ALTER TABLE', 'ALTER TRIGGER', 'CREATE TRIGGER') execute function record_guard.after_change();
drop event trigger if exists guard_record_drop;
create event trigger guard_record_drop on sql_drop execute function record_guard.after_drop();

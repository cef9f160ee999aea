-- Observed denies, counted after they were committed, so that the would-block list reads no more of a long log than of a
-- short one. Nothing here is a record: docs/reference/record.md#would-block-list. The owner's functions alone write it.
-- This file reads no row of the log. It drops an index, for which it has the log's tables to itself for an instant. Rows
-- of before are counted in the background, piece by piece, and the list reads from the log what is not counted yet.

create table would_block_group (
  group_id bigint generated always as identity primary key,
  acting_agent text not null,
  target text not null,
  target_kind text not null,
  deny_reason text not null,
  -- md5: the classes themselves may be longer than an index takes.
  class_hash text not null,
  data_class text not null
);
-- In the order of the list.
create unique index would_block_group_in_order
  on would_block_group (acting_agent, target, target_kind, deny_reason, class_hash);

-- Each row is counted once in each grain.
create table would_block_count (
  group_id bigint not null,
  -- Of the time of the decision. A slice is of ten minutes.
  starts_at timestamptz not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Of the identifier, which decides with what the row is retired; `-infinity` if that month is retired already.
  month date not null,
  grain text not null check (grain in ('slice', 'hour', 'day', 'month')),
  -- Empty for a row without a session.
  scope text not null,
  primary key (group_id, grain, starts_at, scope, month)
) with (fillfactor = 90);
create index would_block_count_by_month on would_block_count (month);

-- Where in the log the counted rows of a slice are.
create table would_block_slice (
  starts_at timestamptz not null,
  month date not null,
  first_seq bigint not null,
  last_seq bigint not null,
  primary key (starts_at, month)
);

-- All rows up to there are counted, and no other.
create table would_block_progress (
  only_row boolean primary key default true check (only_row),
  through bigint not null default 0
);
insert into would_block_progress default values;

drop index decision_would_block;

-- For conditions on `seq`: the planner estimates a stable function by its value.
create function would_block_counted() returns bigint language plpgsql stable
set search_path = public, pg_temp as $$
begin
  return (select through from would_block_progress);
end
$$;

create function would_block_slice_first(slice timestamptz) returns bigint language plpgsql stable
set search_path = public, pg_temp as $$
begin
  return (select min(first_seq) from would_block_slice where starts_at = slice);
end
$$;

create function would_block_slice_last(slice timestamptz) returns bigint language plpgsql stable
set search_path = public, pg_temp as $$
begin
  return (select max(last_seq) from would_block_slice where starts_at = slice);
end
$$;

-- RFC 9562 section 5.7: 48 bits of milliseconds come first.
create function month_of(id uuid) returns date language sql immutable strict
return date_trunc('month',
  to_timestamp(('x' || replace(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date;

-- The highest observed deny below which no row can appear any more; null if a writer takes too long, or if all is counted.
-- A row gets its `seq` before it is visible, from a statement that has locked the log against changes of its definition
-- until its commit. So: the rows up to a visible one are final when all who held that lock then are done.
create function would_block_final() returns bigint language plpgsql
set search_path = public, pg_temp as $$
declare
  newest bigint;
  writers text[];
begin
  -- Above the sequence is what the service did not write. A row there would hide the ones that follow.
  newest := (select max(seq) from decision where not enforced and deny_reason is not null
    and seq <= pg_sequence_last_value(pg_get_serial_sequence('decision', 'seq')::regclass));
  if newest is null or newest <= would_block_counted() then
    return null;
  end if;
  writers := array(select w.virtualtransaction from would_block_writers() w);
  for look in 1..50 loop
    if not exists (select from would_block_writers() w where w.virtualtransaction = any (writers)) then
      return newest;
    end if;
    perform pg_sleep(0.02);
  end loop;
  return null;
end
$$;

-- Every transaction that may have taken a `seq`, the caller's own aside.
create function would_block_writers() returns table (virtualtransaction text) language sql volatile
set search_path = public, pg_temp
begin atomic
  select l.virtualtransaction from pg_catalog.pg_locks l
  where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
    and l.mode not in ('AccessShareLock', 'RowShareLock')
    and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and l.relation in (select relid from pg_partition_tree('decision'));
end;

-- Counts the next rows in the order of the log; how many. Reads take them from the log until this commits.
create function count_would_block_rows(most int) returns int language plpgsql
set search_path = public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  final bigint;
  before bigint;
  upto bigint;
  rows int;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'each statement must see the newest rows' using errcode = 'invalid_transaction_state';
  end if;
  final := would_block_final();
  if final is null then
    return 0;
  end if;
  -- The lock on the log, which the statement above took, keeps its months until the commit.
  select through into before from would_block_progress for update;
  select count(*), max(seq) into rows, upto from (
    select seq from decision where not enforced and deny_reason is not null and seq > before and seq <= final
    order by seq limit most
  ) piece;
  if rows = 0 then
    return 0;
  end if;

  insert into would_block_group (acting_agent, target, target_kind, deny_reason, class_hash, data_class)
  select acting_agent, target, target_kind, deny_reason, md5(data_class), min(data_class) from decision
  where not enforced and deny_reason is not null and seq > before and seq <= upto
    and octet_length(acting_agent) + octet_length(target) + octet_length(deny_reason) <= 2000
  group by 1, 2, 3, 4, 5
  on conflict do nothing;

  insert into would_block_count as known (group_id, grain, starts_at, scope, month, count, first_at, last_at)
  select g.group_id, b.grain, b.starts_at, p.scope, p.month, sum(p.count), min(p.first_at), max(p.last_at)
  from (
    select d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class) as class_hash,
      case when octet_length(s.scope) <= 2000 then s.scope else '' end as scope,
      case when r.month is null then month_of(d.action_id) else '-infinity' end as month,
      -- No row, whatever its time, stops the others from being counted.
      date_bin('10 minutes', greatest(d.decided_at, '0001-01-01Z'), '2000-01-01Z') as slice,
      count(*) as count, min(d.decided_at) as first_at, max(d.decided_at) as last_at
    from decision d left join session s using (session_id) left join retired_month r on r.month = month_of(d.action_id)
    where not d.enforced and d.deny_reason is not null and d.seq > before and d.seq <= upto
    group by 1, 2, 3, 4, 5, 6, 7, 8
  ) p
    join would_block_group g using (acting_agent, target, target_kind, deny_reason, class_hash)
    cross join lateral (values
      ('slice', p.slice),
      ('hour', date_trunc('hour', p.slice, 'UTC')),
      ('day', date_trunc('day', p.slice, 'UTC')),
      ('month', date_trunc('month', p.slice, 'UTC'))
    ) b (grain, starts_at)
  group by 1, 2, 3, 4, 5
  on conflict (group_id, grain, starts_at, scope, month) do update set
    count = known.count + excluded.count,
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at);

  insert into would_block_slice as known (starts_at, month, first_seq, last_seq)
  select date_bin('10 minutes', greatest(d.decided_at, '0001-01-01Z'), '2000-01-01Z'),
    case when r.month is null then month_of(d.action_id) else '-infinity' end, min(d.seq), max(d.seq)
  from decision d left join retired_month r on r.month = month_of(d.action_id)
  where not d.enforced and d.deny_reason is not null and d.seq > before and d.seq <= upto
  group by 1, 2
  on conflict (starts_at, month) do update set
    first_seq = least(known.first_seq, excluded.first_seq),
    last_seq = greatest(known.last_seq, excluded.last_seq);

  update would_block_progress set through = upto;
  return rows;
end
$$;

-- A piece of them, short enough for readers and retention to come in between; how many.
create function count_would_blocks() returns int language sql security definer
set search_path = public, pg_temp
return count_would_block_rows(10000);

-- A batch of counts of retired months, with the groups that they leave empty; how many counts. Reads leave such months
-- out from the moment of their retirement.
create function purge_retired_counts() returns int language plpgsql security definer
set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  emptied bigint[];
  purged int;
begin
  -- So that no group gets its next count meanwhile.
  perform from would_block_progress for update;
  with gone as (
    delete from would_block_count where ctid = any (array(
      select c.ctid from retired_month m join would_block_count c using (month) limit 5000))
    returning group_id
  )
  select array_agg(distinct group_id), count(*) into emptied, purged from gone;
  delete from would_block_group g
  where g.group_id = any (emptied) and not exists (select from would_block_count c where c.group_id = g.group_id);
  delete from would_block_slice where month in (select month from retired_month);
  return purged;
end
$$;

revoke execute on function would_block_final(), would_block_writers(), count_would_block_rows(int), count_would_blocks(),
  purge_retired_counts() from public;

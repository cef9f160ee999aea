-- Where in the chains the calls of a would-block group were made, so that a page of the list can decide them again:
-- docs/reference/record.md#would-block-list. Like the counts it is no record, and the owner's functions alone write it.
-- Everything is counted anew in the background. Until then the list reads from the log what is not counted yet.

create table would_block_place (
  group_id bigint not null,
  -- Empty for a row without a session.
  scope text not null,
  -- As of the counts.
  month date not null,
  -- md5 of the next four: a chain may be longer than an index takes.
  place_hash text not null,
  hop int not null,
  chain text[] not null,
  taint text not null,
  -- The data classes of the parent's record; null at hop 1, and without that record.
  narrowed_to text,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (group_id, scope, month, place_hash)
) with (fillfactor = 90);
create index would_block_place_by_month on would_block_place (month);

-- Looks up each parent alone, so that only its month is read.
create function count_would_block_places(before bigint, upto bigint) returns void language sql
set search_path = public, pg_temp
begin atomic
  insert into would_block_place as known
    (group_id, scope, month, place_hash, hop, chain, taint, narrowed_to, first_at, last_at)
  select g.group_id, p.scope, p.month, md5(jsonb_build_array(p.hop, p.chain, p.taint, p.narrowed_to)::text),
    p.hop, p.chain, p.taint, p.narrowed_to, min(p.first_at), max(p.last_at)
  from (
    select q.*, parent.data_class as narrowed_to
    from (
      select d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class) as class_hash,
        case when octet_length(s.scope) <= 2000 then s.scope else '' end as scope,
        case when r.month is null then month_of(d.action_id) else '-infinity' end as month,
        d.hop, d.chain, d.taint, d.parent_action_id, min(d.decided_at) as first_at, max(d.decided_at) as last_at
      from decision d left join session s using (session_id) left join retired_month r on r.month = month_of(d.action_id)
      where not d.enforced and d.deny_reason is not null and d.seq > before and d.seq <= upto
      group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    ) q left join lateral (
      select o.data_class from decision o where o.action_id = q.parent_action_id and q.hop > 1 limit 1
    ) parent on true
  ) p join would_block_group g using (acting_agent, target, target_kind, deny_reason, class_hash)
  group by 1, 2, 3, 4, 5, 6, 7, 8
  on conflict (group_id, scope, month, place_hash) do update set
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at);
end;

-- Counts the next rows in the order of the log; how many. Reads take them from the log until this commits.
create or replace function count_would_block_rows(most int) returns int language plpgsql
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

  perform count_would_block_places(before, upto);

  update would_block_progress set through = upto;
  return rows;
end
$$;

-- A batch of counts of retired months, with the groups that they leave empty, and a batch of places; the larger number.
-- Reads leave such months out from the moment of their retirement.
create or replace function purge_retired_counts() returns int language plpgsql security definer
set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
  emptied bigint[];
  purged int;
  places int;
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
  delete from would_block_place where ctid = any (array(
    select p.ctid from retired_month m join would_block_place p using (month) limit 5000));
  get diagnostics places = row_count;
  delete from would_block_slice where month in (select month from retired_month);
  return greatest(purged, places);
end
$$;

revoke execute on function count_would_block_places(bigint, bigint) from public;

-- No count changes meanwhile. `delete`, so that a list of before keeps its snapshot.
select from would_block_progress for update;
delete from would_block_count;
delete from would_block_slice;
delete from would_block_group;
update would_block_progress set through = 0;

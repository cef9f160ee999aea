-- What the audit is asked most: an agent's denies, and those that were only observed. An allow has no entry in either. Their
-- condition is spelled as in no other index, so that a statement that spells it so has no other to choose. On a large log,
-- make them beforehand month by month, `concurrently`; the statements below then take over what they find.
create index decision_denied_by_agent on decision (acting_agent, seq desc) where deny_reason is not null;
create index decision_denied_observed on decision (seq desc) where not enforced and deny_reason is not null;

-- Filters depend on each other (an agent's calls are all observed, another's are never denied), which the planner would not
-- think: it would read a whole log for the first of rows that there are none of. Statistics cost nothing until they are
-- gathered; a partition has its own.
create statistics decision_filters (mcv)
  on acting_agent, decision, deny_reason, enforced, target_kind, taint, privileged from decision;

do $$
declare
  part regclass;
begin
  for part in select inhrelid::regclass from pg_catalog.pg_inherits where inhparent = 'decision'::regclass loop
    execute format('create statistics %I (mcv) on acting_agent, decision, deny_reason, enforced, target_kind, taint, privileged from %s',
      part || '_filters', part);
  end loop;
end
$$;

-- As before, and with the statistics.
create or replace function make_decision_partition(month date) returns void language plpgsql
set search_path = public, pg_temp as $$
declare
  part text := partition_of(month);
begin
  execute format('create table %I (like decision including defaults including constraints including indexes including statistics)', part);
  execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', part);
  execute format('alter table %I enable always trigger append_only_whole', part);
  execute format('alter table decision attach partition %I for values from (%L) to (%L)', part, first_id_of(month), first_id_of(months_after(month, 1)));
exception when check_violation then
  raise warning 'decisions of % stay in the default partition', month;
end
$$;

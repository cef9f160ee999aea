-- An enroll token that was never used goes like the enrollments that ended: that it was issued is an event of the audit.

create index enroll_token_by_expiry on enroll_token (expires_at);

create function refuse_change_unless_lapsed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.expires_at < now() - interval '1 day' then
    return old;
  end if;
  raise exception 'table % is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create or replace trigger append_only before update or delete on enroll_token
  for each row execute function refuse_change_unless_lapsed();
alter table enroll_token enable always trigger append_only;

-- A batch of what ended a day ago or longer, so that no clock that runs behind still counts on it; how many went.
create or replace function purge_ended() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  -- The enrollment that used a token is what makes it useless, so it stays for as long as the token could be used.
  with enrollments as (
    delete from enrollment where ctid = any (array(
      select e.ctid from enrollment e left join enroll_token t on t.token_hash = e.enroll_token_hash
      where e.expires_at < now() - interval '1 day' and (t.expires_at is null or t.expires_at < now() - interval '1 day')
      limit 5000))
    returning 1
  ), tokens as (
    -- One that was used follows in the batch after its enrollment's.
    delete from enroll_token where ctid = any (array(
      select t.ctid from enroll_token t where t.expires_at < now() - interval '1 day'
        and not exists (select from enrollment e where e.enroll_token_hash = t.token_hash)
      limit 5000))
    returning 1
  ), blocks as (
    delete from block where until < now() - interval '1 day' returning 1
  ), keys as (
    -- Whatever a superseded key signed has expired within a day (specification: Limits, `ttl_seconds`). Those that were
    -- removed by hand stay: what is left of them says so.
    delete from signing_key where kid in (
      select kid from (
        select kid, lead(activates_at) over (order by activates_at, created_at) as superseded_at
        from signing_key where removed_at is null
      ) key
      where superseded_at < now() - interval '2 days')
    returning 1
  )
  select (select count(*) from enrollments)::int + (select count(*) from tokens)::int
    + (select count(*) from blocks)::int + (select count(*) from keys)::int;
end;

-- What has ended and is no record: it served for a while, and what it led to is told by an event or a row of its own.

-- The months of before are found by this in an instant.
create index enrollment_by_expiry on enrollment (expires_at);

-- A batch of what ended a day ago or longer, so that no clock that runs behind still counts on it; how many went.
create function purge_ended() returns int language sql security definer
set search_path = public, pg_temp
begin atomic
  -- The enrollment that used a token is what makes it useless, so it stays for as long as the token could be used.
  with enrollments as (
    delete from enrollment where ctid = any (array(
      select e.ctid from enrollment e left join enroll_token t on t.token_hash = e.enroll_token_hash
      where e.expires_at < now() - interval '1 day' and (t.expires_at is null or t.expires_at < now() - interval '1 day')
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
  select (select count(*) from enrollments)::int + (select count(*) from blocks)::int + (select count(*) from keys)::int;
end;

revoke execute on function purge_ended() from public;

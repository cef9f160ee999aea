-- How far this database has come. The cache store is told of it, so that a database that was taken back to an earlier state
-- is known by standing behind what was seen of it.
create table witness (
  one boolean primary key default true check (one),
  -- A fresh database is another deployment; one that was restored is the same.
  deployment uuid not null default gen_random_uuid(),
  count bigint not null default 0 check (count >= 0),
  raised_at timestamptz not null default now()
);
insert into witness default values;

-- A month is retired once it is over, as a whole. `not valid`: a mark that is older than this rule is found by
-- svc audit verify, and must not stop a migration.
alter table retired_month add constraint only_months_that_are_over check (
  extract(day from month) = 1 and months_after(month, 1) <= (retired_at at time zone 'UTC')::date
) not valid;

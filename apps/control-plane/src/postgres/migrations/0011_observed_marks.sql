-- A mark that an observed deny left counts for observed decisions only. A member may bear one of each kind, since a mark
-- never changes. A release that does not know the column heeds both, which is stricter.

alter table taint_mark add column observed boolean not null default false;
drop index taint_mark_once;
create unique index taint_mark_once on taint_mark (session_id, member, observed) nulls not distinct;

-- The acts of one person or bearer, newest first. On a large record, make it beforehand, `concurrently`: the statement
-- below then finds it.
create index if not exists administrative_event_by_actor on administrative_event (actor, event_id);

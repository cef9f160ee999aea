-- How each source was read. Reports of before have none.
alter table reconciliation_report add column discovery jsonb not null default '[]';

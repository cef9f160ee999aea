-- The log is read from its end, and an index can be: what comes last then also goes in last, where the server expects it. It
-- need not look for the place, and leaves full pages behind instead of half empty ones. On a large log, make the new indexes
-- beforehand month by month, `concurrently`; the statements below then take over what they find.

drop index decision_in_order, decision_by_session, decision_by_agent, decision_by_reason, decision_denied,
  decision_observed, decision_privileged, decision_tainted, decision_denied_by_agent, decision_denied_observed;

create index decision_in_order on decision (seq);
create index decision_by_session on decision (session_id, seq);
create index decision_by_agent on decision (acting_agent, seq);
create index decision_by_reason on decision (deny_reason, seq) where decision = 'deny';
create index decision_denied on decision (seq) where decision = 'deny';
create index decision_observed on decision (seq) where not enforced;
create index decision_privileged on decision (seq) where privileged;
create index decision_tainted on decision (seq) where taint = 'untrusted_external';
create index decision_denied_by_agent on decision (acting_agent, seq) where deny_reason is not null;
create index decision_denied_observed on decision (seq) where not enforced and deny_reason is not null;

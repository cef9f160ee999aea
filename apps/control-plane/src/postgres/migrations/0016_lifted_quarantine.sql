-- An agent whose quarantine was lifted is as one that never enrolled.
alter table agent_identity drop constraint agent_identity_status_check,
  add constraint agent_identity_status_check check (status in ('enrolled', 'quarantined', 'none'));

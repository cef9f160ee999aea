-- What MCP tools were when a manifest was accepted: their canonical forms by hash, and which ones each version pins, with
-- the service's mark. Versions of before pin none.

create table tool_definition (
  -- base64url(SHA-256) of the definition.
  hash text primary key,
  definition text not null,
  accepted_at timestamptz not null
);
create trigger append_only before update or delete on tool_definition for each row execute function refuse_change();
create trigger append_only_whole before truncate on tool_definition for each statement execute function refuse_change();
alter table tool_definition enable always trigger append_only, enable always trigger append_only_whole;

alter table manifest_version add column definitions text, add column definitions_mac text;
alter table reconciliation_report add column definitions jsonb not null default '[]';

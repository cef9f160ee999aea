-- What the service stores and later acts on carries a mark under a key that is not in the database. Rows of before have
-- none: the owner lists them here, once, by their hashes. The service's role cannot add to the list.

-- base64url(HMAC-SHA-256) over the statement.
alter table seal add column mac text;

create table unmarked (
  kind text not null check (kind in ('seal', 'policy', 'manifest')),
  -- The scope of a policy, the agent_id of a manifest.
  name text not null,
  version bigint not null,
  -- base64url(SHA-256) of the statement or document.
  document_hash text not null,
  primary key (kind, name, version)
);

create function hash_of(document text) returns text language sql immutable strict
return rtrim(translate(encode(sha256(convert_to(document, 'UTF8')), 'base64'), '+/', '-_'), '=');

insert into unmarked select 'seal', '', batch, hash_of(statement) from seal order by batch desc limit 1;
insert into unmarked select 'policy', scope, version, hash_of(document) from compiled_policy;
insert into unmarked select 'manifest', agent_id::text, version, hash_of(doc) from manifest_version
  where status in ('reconciled', 'attested');
drop function hash_of;

create trigger append_only before update or delete on unmarked for each row execute function refuse_change();
create trigger append_only_whole before truncate on unmarked for each statement execute function refuse_change();
alter table unmarked enable always trigger append_only, enable always trigger append_only_whole;

-- Owners of names and facts of tools carry a mark too: base64url(HMAC-SHA-256) over name and origin; over reference,
-- revision, privileged and access. Rows of before have none: `unmarked` lists them.

-- A row without a valid mark must not keep the service from storing the same owner with one.
alter table server_origin
  add column position bigint generated always as identity,
  add column mac text,
  drop constraint server_origin_pkey,
  add primary key (name, position);

-- The highest marked revision of a tool counts: a copy of an older row, with its mark, is not newer.
alter table tool_fact
  add column revision int not null default 0,
  add column mac text;

alter table unmarked
  drop constraint unmarked_kind_check,
  add constraint unmarked_kind_check check (kind in ('seal', 'policy', 'manifest', 'origin', 'fact'));
-- The name, its version and the hash: of an origin the server, the position and the origin; of a fact the reference, the
-- position, and privileged and access as `true write`.
create function hash_of(document text) returns text language sql immutable strict
return rtrim(translate(encode(sha256(convert_to(document, 'UTF8')), 'base64'), '+/', '-_'), '=');
insert into unmarked select 'origin', name, position, hash_of(origin) from server_origin;
insert into unmarked select 'fact', ref, position, hash_of(privileged::text || ' ' || access) from tool_fact;
drop function hash_of;

-- Evidence of tampering: batches of the record, hashed and signed after they were committed.
create table seal (
  batch bigint primary key check (batch >= 1),
  -- A compact JWS by the issuer's key: what the batch covers, its root, and the hash of the statement before it.
  statement text not null,
  -- The identifier (16 bytes) and the leaf (32 bytes) of each row, so that what is missing can be named.
  entries bytea not null
);
-- Hashes do not compress, so it is not tried.
alter table seal alter column entries set storage external;

create trigger append_only before update or delete on seal for each row execute function refuse_change();
create trigger append_only_whole before truncate on seal for each statement execute function refuse_change();
alter table seal enable always trigger append_only, enable always trigger append_only_whole;

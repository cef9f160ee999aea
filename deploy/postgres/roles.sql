-- The roles and the database of the control plane. Run once by a superuser, before the first start:
--
--   psql --file roles.sql
--   psql --command '\password svc_migrate' --command '\password svc_app'
--
--   SVC_MIGRATION_DATABASE_URL=postgres://svc_migrate:...@host/svc    for migrations
--   DATABASE_URL=postgres://svc_app:...@host/svc                      for everything else

-- Owns the database and its content. It has no login.
create role svc_owner nologin;

-- Migrates the schema: a login that acts as the owner.
create role svc_migrate login in role svc_owner;
alter role svc_migrate set role = svc_owner;

-- The service. Each migration grants it what it may do: read and add, never change or remove a record.
create role svc_app login;
-- An acknowledged decision is on disk, independent of the server's default.
alter role svc_app set synchronous_commit = on;

create database svc owner svc_owner;
revoke all on database svc from public;
grant connect on database svc to svc_migrate, svc_app;

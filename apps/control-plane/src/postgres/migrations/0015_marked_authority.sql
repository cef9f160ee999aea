-- base64url(HMAC-SHA-256) over scope, version and document; over agent, version, status and document. Rows of before have
-- none: `unmarked` lists them.
alter table compiled_policy add column mac text;
alter table manifest_version add column mac text;

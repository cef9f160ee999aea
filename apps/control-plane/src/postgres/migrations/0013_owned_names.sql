-- The origins whose answers were accepted for a server's name, and how each tool was last accepted: another origin, or a
-- weaker tool, needs a person. Both are appended to; the newest fact of a tool counts.

create table server_origin (
  name text not null,
  origin text not null,
  accepted_at timestamptz not null,
  primary key (name, origin)
);

create table tool_fact (
  ref text not null,
  position bigint generated always as identity,
  privileged boolean not null,
  access text not null check (access in ('read', 'write')),
  accepted_at timestamptz not null,
  primary key (ref, position)
);

create trigger append_only before update or delete on server_origin for each row execute function refuse_change();
create trigger append_only_whole before truncate on server_origin for each statement execute function refuse_change();
alter table server_origin enable always trigger append_only, enable always trigger append_only_whole;
create trigger append_only before update or delete on tool_fact for each row execute function refuse_change();
create trigger append_only_whole before truncate on tool_fact for each statement execute function refuse_change();
alter table tool_fact enable always trigger append_only, enable always trigger append_only_whole;

-- What is in force now was accepted by the rules of its time. No json operator takes the escapes of NUL and of lone
-- surrogates, which only names that are not read here may hold.
create view in_force as
select distinct on (agent_id)
  regexp_replace(doc, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::json as doc, status, created_at
from manifest_version where status in ('reconciled', 'attested') order by agent_id, version desc;

insert into server_origin (name, origin, accepted_at)
select name, regexp_replace(origin, '^(http://[^:]+):80$|^(https://[^:]+):443$', '\1\2'), min(created_at)
from (
  select (source ->> 'kind') || ':' || (source ->> 'name') as name, created_at,
    substring(source ->> 'url' from '^(https?://[a-z0-9.-]+(?::[0-9]+)?)(?:/|$)') as origin
  from in_force, json_array_elements(
    case json_typeof(doc -> 'discovery') when 'array' then doc -> 'discovery'
      when 'object' then json_build_array(doc -> 'discovery') else '[]' end) source
  where status = 'reconciled' and source ->> 'kind' in ('mcp', 'a2a')
) named where origin is not null
group by 1, 2;

insert into tool_fact (ref, privileged, access, accepted_at)
select tool ->> 'ref', bool_or(coalesce((tool ->> 'privileged')::boolean, false)),
  case when bool_or(tool ->> 'access' = 'write') then 'write' else 'read' end, min(created_at)
from in_force, json_each(doc -> 'scopes') scope (name, declared),
  json_array_elements(coalesce(declared -> 'tools', '[]')) tool
group by 1;

drop view in_force;

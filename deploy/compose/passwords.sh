#!/bin/bash
# After roles.sql, before the server listens on the network: the two login roles get their passwords.
set -euo pipefail
psql --username "${POSTGRES_USER:-postgres}" --set ON_ERROR_STOP=1 \
  --set migrate="$SVC_MIGRATE_PASSWORD" --set app="$SVC_APP_PASSWORD" <<'SQL'
alter role svc_migrate password :'migrate';
alter role svc_app password :'app';
SQL

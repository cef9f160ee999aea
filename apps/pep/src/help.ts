/** What `svc-pep --help` says. */
export const help = `svc-pep: the enforcement point, beside one agent. Configured by environment variables and the upstreams file alone.

Usage:
  svc-pep                   serve until SIGTERM
  svc-pep --check SCOPE...  which configured targets could no policy of these scopes allow? (needs SVC_ADMIN_TOKEN)
  svc-pep --print-config    settings and upstreams as they are in force, secrets left out
  svc-pep --schema          JSON Schema of the upstreams file, for editors
  svc-pep --help            this

Examples:
  SVC_CONTROL_PLANE_URL=http://127.0.0.1:8080 SVC_PEP_CONFIG=pep.yaml SVC_DEV=true svc-pep
  SVC_ADMIN_TOKEN=... svc-pep --check expenses travel
  svc-pep --schema > pep.schema.json   # then, as the first line of pep.yaml:
                                       # yaml-language-server: $schema=pep.schema.json

Exit codes: 0 done; 1 it did not start, or a target is in no policy; 2 it cannot be told, or the flag is not known.
`;

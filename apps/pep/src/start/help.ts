/** A test compares the README's table with these. */
export const flags = [
  { flag: "none", does: "serves until SIGTERM" },
  {
    flag: "--check SCOPE...",
    does: "names the configured targets that no policy of these scopes could allow; needs `SVC_ADMIN_TOKEN`",
  },
  {
    flag: "--check-settings",
    does: "prints as lines of JSON what a start with these settings would refuse or warn of; `svc check --pep-settings-from-env` shows them",
  },
  {
    flag: "--lint FILE",
    does: "prints as JSON which rules of FILE can never give a call its class, and which overlap; `svc upstreams lint` prints them as text",
  },
  {
    flag: "--print-config",
    does: "prints settings, proxies and upstreams in force as YAML, without secrets and without the content of files",
  },
  {
    flag: "--schema",
    does: "prints the JSON Schema of the upstreams file, for editors; begin the file with `# yaml-language-server: $schema=pep.schema.json`",
  },
  {
    flag: "--suggest [FILE]",
    does: "reads the answer of `GET /__svc/unlisted` on standard input, and prints as JSON the entries that would list these calls beside those of FILE; `svc upstreams suggest` prints them as YAML",
  },
  { flag: "--help", does: "prints these flags, with examples" },
] as const;

const column = Math.max(...flags.map(({ flag }) => flag.length));
const usage = flags.map(({ flag, does }) =>
  `  svc-pep ${(flag === "none" ? "" : flag).padEnd(column)}  ${does.replaceAll("`", "")}`.trimEnd(),
);

export const help = `svc-pep: the enforcement point, beside one agent. Configured by environment variables and the upstreams file alone.

Usage:
${usage.join("\n")}

Examples:
  SVC_CONTROL_PLANE_URL=http://127.0.0.1:8080 SVC_PEP_CONFIG=pep.yaml SVC_DEV=true svc-pep
  SVC_ADMIN_TOKEN=... svc-pep --check expenses travel
  svc-pep --schema > pep.schema.json
  curl -s http://127.0.0.1:16020/__svc/unlisted | svc-pep --suggest pep.yaml

Exit codes: 0 done; 1 did not start, a target is in no policy, or a rule is dead; 2 an input cannot be used, or the flag is unknown.
`;

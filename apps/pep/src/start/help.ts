/** What the command can be asked for besides serving; the README's table is held against it. */
export const flags = [
  { flag: "none", does: "serves until SIGTERM" },
  {
    flag: "--check SCOPE...",
    does: "names the configured targets that no policy of these scopes could allow; needs `SVC_ADMIN_TOKEN`",
  },
  {
    flag: "--print-config",
    does: "settings, proxies and upstreams as they are in force, as YAML; secrets are left out, and files that it names are not read into it",
  },
  {
    flag: "--schema",
    does: "the JSON Schema of the upstreams file: keep it beside the file and begin that with `# yaml-language-server: $schema=pep.schema.json`",
  },
  { flag: "--help", does: "these flags in short, with examples" },
] as const;

const column = Math.max(...flags.map(({ flag }) => flag.length));
const usage = flags.map(({ flag, does }) =>
  `  svc-pep ${(flag === "none" ? "" : flag).padEnd(column)}  ${does.replaceAll("`", "")}`.trimEnd(),
);

/** What `svc-pep --help` says. */
export const help = `svc-pep: the enforcement point, beside one agent. Configured by environment variables and the upstreams file alone.

Usage:
${usage.join("\n")}

Examples:
  SVC_CONTROL_PLANE_URL=http://127.0.0.1:8080 SVC_PEP_CONFIG=pep.yaml SVC_DEV=true svc-pep
  SVC_ADMIN_TOKEN=... svc-pep --check expenses travel
  svc-pep --schema > pep.schema.json

Exit codes: 0 done; 1 it did not start, or a target is in no policy; 2 it cannot be told, or the flag is not known.
`;

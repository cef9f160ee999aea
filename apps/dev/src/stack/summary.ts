import { styleText } from "node:util";
import { exampleScope } from "../examples/agents.ts";
import { developmentClient } from "./logins.ts";
import type { Stack } from "./stack.ts";

/** The one line of `--json` (docs/reference/settings.md#dev---json). */
export const devLine = (stack: Stack): string =>
  JSON.stringify({
    control_plane: stack.controlPlane,
    pep: stack.pep,
    pep_admin: stack.pepAdmin,
    example_mcp: stack.exampleMcp,
    example_http: stack.exampleHttp,
    openid_provider: stack.openidProvider,
    admin_token: stack.bearers.admin,
    audit_token: stack.bearers.audit,
    identity_token: stack.bearers.identity,
    pep_config: stack.pepConfig,
    database_url: stack.databaseUrl,
  });

export function devSummary(stack: Stack, withExample: boolean): string {
  const rows: [string, string][] = [
    ["control plane", `${stack.controlPlane}   (/docs, /console, /me, /openapi.json)`],
    ["enforcement point", `${stack.pep}   (health and metrics: ${stack.pepAdmin}/__svc/metrics)`],
    [
      "example MCP servers",
      `${stack.exampleMcp}, ${stack.examplePayments}   (guarded: ${stack.pep}/everything, ${stack.pep}/payments)`,
    ],
    ["example ledger", `${stack.exampleHttp}   (guarded: ${stack.pep}/ledger/entries/7)`],
    ...providerRow(stack),
    ["admin token", stack.bearers.admin],
    ["audit token", stack.bearers.audit],
    ["identity token", stack.bearers.identity],
    ["upstreams", `${stack.pepConfig}   (watched: edit it)`],
    ["database", stack.databaseUrl],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `  ${styleText("bold", name.padEnd(width))}  ${value}`);
  return [
    styleText("green", "Everything is running."),
    ...table,
    "",
    "Next:",
    withExample ? consentCommand(stack) : registerCommand(stack),
    ...(stack.hasLogins ? ["", loginCommand(stack)] : []),
    "",
    "Ctrl-C stops everything.",
  ].join("\n");
}

/** Marks what it is: it lets in anyone who can reach it. */
const providerRow = ({ openidProvider, lacksProvider }: Stack): [string, string][] => {
  const mark = styleText("yellow", "for development only: no passwords");
  if (openidProvider !== null) {
    return [["OpenID provider", `${openidProvider}   (${mark}; ada opens the console, ben does not)`]];
  }
  return lacksProvider ? [["OpenID provider", "none: the package oidc-provider is not installed"]] : [];
};

const loginCommand = ({ controlPlane, pep }: Stack): string => `\
  # Or let an MCP client in, by your consent in the browser: its address, and the OAuth client id "${developmentClient.client_id}".
  # Let it list the invoices, and pay A-7: that needs one more consent, for a minute. Yours are listed in ${controlPlane}/me
  claude mcp add --transport http --client-id ${developmentClient.client_id} payments ${pep}/payments`;

const consentCommand = ({ controlPlane, pep, bearers }: Stack): string => `\
  # A person consents and delegates to planner; the reply has a session and planner's token. In a checkout: npx --yes pnpm@12.4.2 svc ...
  SVC_ADMIN_TOKEN=${bearers.admin} svc consent --control-plane ${controlPlane} \\
    --scope ${exampleScope} --user alice --agent planner

  # A guarded call, within a minute, with TOKEN from the reply; see it in ${controlPlane}/console
  curl -s ${pep}/ledger/entries/7 -H "Authorization: Bearer $TOKEN"`;

const registerCommand = ({ controlPlane, bearers, exampleMcp }: Stack): string => `\
  # An agent declares what it may do (or start with --with-example).
  curl -s ${controlPlane}/v1/agents -H 'Authorization: Bearer ${bearers.admin}' -H 'Content-Type: application/json' -d '{
    "name": "planner",
    "manifest": {
      "discovery": {"kind": "mcp", "name": "everything", "url": "${exampleMcp}"},
      "scopes": {"notes": {"hop_budget": 2, "tools": [{"ref": "mcp:everything/echo", "data_classes": ["notes"]}]}}
    }
  }'`;

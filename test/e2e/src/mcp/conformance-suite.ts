import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild, waitUntil } from "@svc/test-support";

export type Outcomes = Readonly<Record<string, readonly string[]>>;

export type Revision = "2025-11-25" | "2026-07-28";

/** Runs what the official suite requires of servers of a revision: by scenario, the result of each check and its reason. */
export const suiteAgainst = (url: string, revision: Revision): Promise<Outcomes> =>
  run(["server", "--url", url, "--requirements", revision]);

/** The scenarios for clients without OAuth: OAuth's paths beside the endpoint are no part of an MCP upstream. */
export const clientScenarios = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
] as const;

/** Environment variables for the client: the enforcement point, and the upstreams file that it writes. */
export const throughEnv = { url: "SVC_E2E_THROUGH_URL", configFile: "SVC_E2E_THROUGH_CONFIG" } as const;

/** Runs one scenario of the official suite against the official client, directly or through an enforcement point. */
export function suiteOfClient(
  scenario: (typeof clientScenarios)[number],
  through?: { readonly url: string; readonly configFile: string },
): Promise<Outcomes> {
  const client = fileURLToPath(new URL("./conformance-client.ts", import.meta.url));
  const command = `${process.execPath} --conditions=@svc/source ${client}`;
  const env = through ? { [throughEnv.url]: through.url, [throughEnv.configFile]: through.configFile } : {};
  return run(["client", "--command", command, "--scenario", scenario, "--timeout", "240000"], env);
}

/** Runs the scenarios for authorization servers. @param visit opens the address that the suite prints, as its person */
export async function suiteOfAuthorizationServer(
  issuer: string,
  { clientId, resource, port }: { readonly clientId: string; readonly resource: string; readonly port: number },
  visit: (url: string) => Promise<void>,
): Promise<Outcomes> {
  const args = ["--url", issuer, "--client-id", clientId, "--resource", resource, "--port", String(port)];
  return run(["authorization", ...args], {}, async (child) => {
    await waitUntil(
      "the suite to ask for a person",
      () => child.hasExited() || /^http\S+response_type=/m.test(child.stdout()),
    );
    const [url] = /^http\S+response_type=\S+/m.exec(child.stdout()) ?? [];
    if (url !== undefined) await visit(url);
  });
}

async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  meanwhile: (child: Child) => Promise<void> = async () => {},
): Promise<Outcomes> {
  const folder = mkdtempSync(join(tmpdir(), "svc-mcp-conformance-"));
  try {
    const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
    const all = [program, ...args, "-o", folder];
    const child = startChild(process.execPath, all, { env: { PATH: process.env.PATH, ...env } });
    await meanwhile(child);
    await child.exited;
    return Object.fromEntries(
      readdirSync(folder).map((name) => [
        name.replace(/^(?:server-)?(.*)-\d{4}-\d\d-\d\dT.*$/, "$1"),
        (JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[])
          .map((check) => `${check.id}: ${statusOf(check)}`)
          .sort(),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly details?: { readonly slightlyLate?: boolean; readonly veryLate?: boolean };
}

/** On a busy machine a client reconnects late. Only one that reconnects too early, or never, breaks the rule. */
const statusOf = ({ status, details }: Check): string =>
  details?.slightlyLate || details?.veryLate ? "SUCCESS" : status;

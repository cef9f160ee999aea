import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { AuthzClient } from "@svc/client";
import { type DevStack, programOf, spawnDev } from "@svc/test-support";
import postgres from "postgres";
import { stringify } from "yaml";

const fileServer = import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js");

/** A real stack, and the folder in which examples are typed. */
export interface ExampleStack {
  readonly folder: string;
  /** Types a line as printed on a terminal of so many columns. @param endsAfter seconds until Ctrl-C */
  typed(line: string, columns: number, endsAfter?: number): Promise<Typed>;
  stop(): Promise<void>;
}

export interface Typed {
  readonly code: number;
  readonly lines: readonly string[];
}

export async function openExampleStack(): Promise<ExampleStack> {
  const folder = mkdtempSync(join(tmpdir(), "svc-examples-"));
  const stack = await spawnDev(["--with-example", "--port", "0"]);
  await writeFiles(stack, folder);
  await registerSink(stack);
  const found = await observeACallThatWouldBeBlocked(stack);
  const here = (line: string) => withAddresses(line, stack, folder, found);
  return {
    folder,
    async typed(line, columns, endsAfter) {
      const limit = endsAfter === undefined ? "" : `timeout --preserve-status --signal INT ${endsAfter} `;
      // Nothing is typed after the line: what asks for a confirmation gets none.
      const command = `stty cols ${columns} rows 50; ${limit}bash --norc -euo pipefail -c "$LINE" < /dev/null`;
      // `fpath` is zsh's own list of where completions are.
      const LINE = `fpath=("${folder}" "${folder}")\n${here(line)}`;
      const env = { ...(await environmentOf(stack, folder)), ...found, LINE };
      const child = spawn("script", ["-qec", command, "/dev/null"], {
        cwd: folder,
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
      return { code, lines: stripVTControlCharacters(output).split(/[\r\n]+/) };
    },
    async stop() {
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const environmentOf = async (stack: DevStack, folder: string): Promise<NodeJS.ProcessEnv> => ({
  PATH: [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
  ...{ HOME: folder, TERM: "xterm", SHELL: "/bin/sh" },
  SVC_CONTROL_PLANE_URL: stack.control_plane,
  SVC_PEP_ADMIN_LISTEN: new URL(stack.pep_admin).host,
  SVC_ADMIN_TOKEN: stack.admin_token,
  SVC_AUDIT_TOKEN: stack.audit_token,
  // What the control plane behind it would be given in production.
  DATABASE_URL: stack.database_url,
  SVC_TELEMETRY_KEY: randomBytes(32).toString("base64url"),
  SVC_KEY_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  KID: await formerKey(stack),
});

/** As a control plane with the setting does. */
async function registerSink({ database_url: url }: DevStack): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`insert into sink (name, batch) values ('webhook', 0)`.finally(() => sql.end());
}

/** What the examples find in their folder. */
async function writeFiles(stack: DevStack, folder: string): Promise<void> {
  const client = new AuthzClient({ baseUrl: stack.control_plane, adminToken: stack.admin_token });
  const { doc } = await client.admin.manifest("expenses", { agent: "planner" });
  await client.close();
  const manifest = stringify({ agent: "planner", manifest: doc });
  const upstream = { name: "ledger", url: stack.example_http, hosts: ["ledger.internal"], routes: [] };
  const recorder = import.meta.resolve("@svc/drift/recorder");
  const edge = { scope: "expenses", chain: ["planner"], caller: "planner", target: "http:ledger/read_entry" };
  const more = { targetKind: "tool", dataClass: "finance.entries", hop: 2, taint: "trusted_internal" };
  const files: Record<string, string> = {
    "planner.yaml": manifest,
    "manifests/planner.yaml": manifest,
    "pep.yaml": stringify({ upstreams: [upstream] }),
    "unlisted.json": JSON.stringify({ unlisted: [], dropped: 0 }),
    "denied.yaml": "[]",
    "agent.js": "",
    "openapi.yaml": "openapi: 3.1.0\npaths: { /orders: { get: { operationId: listOrders } } }\n",
    "agent.py": "",
    "key.txt": "a-key\n",
    "record.mjs": `import { traceRecorder } from ${JSON.stringify(recorder)};
      const recorder = traceRecorder(process.env.SVC_TRACE_PATH + "/");
      recorder.record(${JSON.stringify({ ...edge, ...more, outcome: "allow" })});
      await recorder.close();`,
    // Programs that the examples call; the tests of `pnpm test` leave a trace.
    "bin/python": "#!/bin/sh\n",
    "bin/npx": `#!/bin/sh\nexec node ${fileURLToPath(fileServer)} "$3"\n`,
    "bin/pnpm": "#!/bin/sh\nexec node --conditions=@svc/source record.mjs\n",
    "bin/svc": `#!/bin/sh\nexec node ${programOf("@svc/cli/main")} "$@"\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (name.startsWith("bin/")) chmodSync(path, 0o755);
  }
  mkdirSync(join(folder, ".config/fish/completions"), { recursive: true });
}

async function ask<Body>(
  stack: DevStack,
  method: "GET" | "POST",
  path: string,
  body?: object,
  token = stack.admin_token,
): Promise<Body> {
  const response = await fetch(`${stack.control_plane}${path}`, {
    ...{ method, redirect: "manual" },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

/** @returns what the examples find in variables */
async function observeACallThatWouldBeBlocked(stack: DevStack): Promise<Readonly<Record<string, string>>> {
  const client = new AuthzClient({ baseUrl: stack.control_plane, adminToken: stack.admin_token });
  const session = await client.consent({ scope: "expenses", userSub: "ada" });
  const delegation = { target: "planner", targetKind: "agent", dataClass: "notes" } as const;
  const [, planner] = await client.hop(session.context(), delegation);
  await client.close();
  const call = { session_id: planner.sessionId, target: "mcp:everything/get-env", target_kind: "tool" };
  const observed = { ...call, data_class: "notes", enforced: false };
  const { action_id } = await ask<{ action_id: string }>(stack, "POST", "/v1/authorize", observed, planner.token);
  return { SESSION_ID: planner.sessionId, ACTION_ID: action_id };
}

/** A key that has signed and does so no longer, once one was rotated. */
async function formerKey(stack: DevStack): Promise<string> {
  const { data } = await ask<{ data: readonly { kid: string; status: string }[] }>(stack, "GET", "/v1/keys");
  return (data.find(({ status }) => status === "superseded") ?? data[0])?.kid ?? "";
}

/** Only addresses, an id and folders of the machine are this run's own. */
const withAddresses = (
  line: string,
  stack: DevStack,
  folder: string,
  found: Readonly<Record<string, string>>,
): string =>
  line
    .replaceAll("https://authz.example.com", stack.control_plane)
    .replaceAll("http://127.0.0.1:16020", stack.pep_admin)
    .replaceAll("https://market.internal/mcp", stack.example_mcp)
    .replaceAll("0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d", found.ACTION_ID ?? "")
    .replaceAll("/etc/bash_completion.d", folder)
    .replaceAll("/var/lib/node_exporter", folder)
    .replaceAll("SVC_ADMIN_TOKEN=...", `SVC_ADMIN_TOKEN=${stack.admin_token}`)
    .replaceAll("SVC_AUDIT_TOKEN=...", `SVC_AUDIT_TOKEN=${stack.audit_token}`);

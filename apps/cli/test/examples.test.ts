import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AuthzClient } from "@svc/client";
import { type DevStack, programOf, requires, spawnDev } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { examplesOf, helpOf, leaves, readmeExamples } from "./printed-examples.ts";

/** Every command line that `--help` and the README print, typed as printed, against a real stack. */
const printed = [
  ...new Set([...(await leaves()).flatMap(({ command }) => examplesOf(helpOf(command))), ...readmeExamples()]),
];

/** What is not run here, and why. */
const notRun: Readonly<Record<string, string>> = {
  "svc decisions --follow --agent planner": "runs until Ctrl-C: record.test.ts",
  "svc init": "asks on a terminal: init-terminal.test.ts",
  ...Object.fromEntries(
    printed
      .filter((line) => /svc (?:login|context)/.test(line))
      .map((line) => [line, "keeps a bearer for the person who types it: contexts.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => line.includes("svc mcp"))
      .map((line) => [line, "speaks MCP with the client that starts it: test/e2e/svc-mcp.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => line.includes("svc audit verify"))
      .map((line) => [line, "reads a record that was sealed, as its auditor: audit-verify.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => line.includes("svc enroll agent"))
      .map((line) => [line, "needs an ID token of an OpenID provider: test/e2e/enroll-command.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => /svc approve \S/.test(line))
      .map((line) => [line, "needs a person who signs in: test/e2e/approve.test.ts"]),
  ),
};

const fileServer = import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js");

/** Examples whose help documents another exit code than 0. */
const codes: Readonly<Record<string, number>> = {
  // Nothing waits for a review.
  'svc manifest approve planner --reason "reviewed in change 4712"': 1,
  // A command that cannot be undone needs a confirmation on a terminal, and there is none here.
  'svc agents revoke planner --reason "its key leaked"': 2,
};

let stack: DevStack;
let folder: string;
const found: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-examples-"));
  stack = await spawnDev(["--with-example", "--port", "0"]);
  await writeFiles();
  await observeACallThatWouldBeBlocked();
});
afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the examples find in their folder. */
async function writeFiles(): Promise<void> {
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
  method: "GET" | "POST",
  path: string,
  body?: object,
  token = stack.admin_token,
): Promise<Body> {
  const response = await fetch(`${stack.control_plane}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.ok, path).toBe(true);
  return (await response.json()) as Body;
}

async function observeACallThatWouldBeBlocked(): Promise<void> {
  const client = new AuthzClient({ baseUrl: stack.control_plane, adminToken: stack.admin_token });
  const session = await client.consent({ scope: "expenses", userSub: "ada" });
  const delegation = { target: "planner", targetKind: "agent", dataClass: "notes" } as const;
  const [, planner] = await client.hop(session.context(), delegation);
  await client.close();
  const call = { session_id: planner.sessionId, target: "mcp:everything/get-env", target_kind: "tool" };
  const observed = { ...call, data_class: "notes", enforced: false };
  const { action_id } = await ask<{ action_id: string }>("POST", "/v1/authorize", observed, planner.token);
  Object.assign(found, { SESSION_ID: planner.sessionId, ACTION_ID: action_id });
}

/** A key that has signed and does so no longer, once one was rotated. */
async function formerKey(): Promise<string> {
  const { data } = await ask<{ data: readonly { kid: string; status: string }[] }>("GET", "/v1/keys");
  return (data.find(({ status }) => status === "superseded") ?? data[0])?.kid ?? "";
}

/** Only addresses, an id and folders of the machine are this run's own. */
const here = (line: string): string =>
  line
    .replaceAll("https://authz.example.com", stack.control_plane)
    .replaceAll("http://127.0.0.1:16020", stack.pep_admin)
    .replaceAll("https://market.internal/mcp", stack.example_mcp)
    .replaceAll("0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d", found.ACTION_ID ?? "")
    .replaceAll("/etc/bash_completion.d", folder)
    .replaceAll("/var/lib/node_exporter", folder)
    .replaceAll("SVC_ADMIN_TOKEN=...", `SVC_ADMIN_TOKEN=${stack.admin_token}`)
    .replaceAll("SVC_AUDIT_TOKEN=...", `SVC_AUDIT_TOKEN=${stack.audit_token}`);

async function typed(line: string): Promise<{ code: number; output: string }> {
  const env = {
    PATH: [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: folder,
    SVC_CONTROL_PLANE_URL: stack.control_plane,
    SVC_PEP_ADMIN_LISTEN: new URL(stack.pep_admin).host,
    SVC_ADMIN_TOKEN: stack.admin_token,
    SVC_AUDIT_TOKEN: stack.audit_token,
    // What the control plane behind it would be given in production.
    DATABASE_URL: stack.database_url,
    SVC_TELEMETRY_KEY: randomBytes(32).toString("base64url"),
    SVC_KEY_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    KID: await formerKey(),
    ...found,
  };
  return new Promise((resolve) => {
    // `fpath` is zsh's own list of where completions are.
    const shell = ["--norc", "-euo", "pipefail", "-c", `fpath=("${folder}" "${folder}")\n${here(line)}`];
    execFile("bash", shell, { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}

function neededBy(line: string) {
  if (line.includes("| jq")) return requires("jq");
  return line.includes("--isolate") ? requires("user namespaces") : { test };
}

for (const line of printed.filter((each) => notRun[each] === undefined)) {
  const { test: runnable } = neededBy(line);
  runnable(line, async () => {
    const { code, output } = await typed(line);
    expect(code, output).toBe(codes[line] ?? 0);
  });
}

test("every skipped example exists and has a reason", () => {
  expect(printed).toEqual(expect.arrayContaining(Object.keys(notRun)));
});

test("the examples that write a file write it", () => {
  for (const file of [
    "decisions.ndjson",
    "session.json",
    "drift.sarif",
    "svc_drift.prom",
    "proposed/planner.json",
    "reader-pep.yaml",
    "reader.yaml",
  ])
    expect(existsSync(join(folder, file)), file).toBe(true);
});

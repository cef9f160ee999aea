import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlane,
  createMigratedDatabase,
  startControlPlane,
  type TestDatabase,
  testBearers,
} from "@svc/test-support";
import { type Ended, svc } from "./svc.ts";

/** A real control plane, a service behind an upstreams file, and the command with its bearers. */
export interface CliStack {
  readonly controlPlane: ControlPlane;
  readonly database: TestDatabase;
  readonly env: Readonly<Record<string, string>>;
  /** Of an upstreams file with `http:ledger/read` and `http:ledger/post`. */
  readonly upstreams: string;
  readonly folder: string;
  svc(...args: readonly string[]): Promise<Ended>;
  /** The same, whose standard output must be JSON lines. */
  // biome-ignore lint/suspicious/noExplicitAny: a black-box test reads whatever came.
  json(...args: readonly string[]): Promise<readonly any[]>;
  stop(): Promise<void>;
}

export const clerkManifest = {
  agent: "clerk",
  manifest: {
    scopes: { books: { hop_budget: 3, tools: [{ ref: "http:ledger/read", data_classes: ["finance.entries"] }] } },
  },
};

export async function startCliStack(): Promise<CliStack> {
  const folder = mkdtempSync(join(tmpdir(), "svc-cli-"));
  const database = await createMigratedDatabase();
  const controlPlane = await startControlPlane({ database });
  const ledger = createServer((request, response) => response.end(`ledger ${request.url}\n`));
  ledger.listen(0, "127.0.0.1");
  await once(ledger, "listening");
  const upstreams = join(folder, "pep.json");
  writeFileSync(upstreams, JSON.stringify({ upstreams: [upstreamOf((ledger.address() as AddressInfo).port)] }));
  const env = {
    SVC_CONTROL_PLANE_URL: controlPlane.url,
    SVC_ADMIN_TOKEN: testBearers.admin,
    SVC_AUDIT_TOKEN: testBearers.audit,
    SVC_IDENTITY_TOKEN: testBearers.identity,
  };
  return {
    controlPlane,
    database,
    env,
    upstreams,
    folder,
    svc: (...args) => svc(args, env),
    async json(...args) {
      const { stdout, stderr } = await svc([...args, "--json"], env);
      if (stdout === "" && stderr !== "") throw new Error(stderr);
      return stdout
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    },
    async stop() {
      ledger.close();
      await controlPlane.stop();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** With the agent `clerk` in force in the scope `books`. */
export async function startClerkStack(): Promise<CliStack> {
  const stack = await startCliStack();
  const file = join(stack.folder, "clerk.json");
  writeFileSync(file, JSON.stringify(clerkManifest));
  await stack.svc("manifest", "submit", file, "--override", "a test");
  return stack;
}

const upstreamOf = (port: number) => ({
  name: "ledger",
  url: `http://127.0.0.1:${port}`,
  hosts: ["ledger.internal"],
  routes: [
    { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance.entries" },
    { methods: ["POST"], path: "/post", target: "http:ledger/post", data_class: "finance.entries" },
  ],
});

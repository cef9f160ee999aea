import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CliStack, clerkManifest, startCliStack } from "./stack.ts";
import { type Started, start } from "./svc.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../pep/test/fixtures/${name}`, import.meta.url));

/** An HTTPS server whose certificate no program of this machine trusts. */
async function startedTlsServer(listener: RequestListener) {
  const server = createServer(
    { key: readFileSync(fixture("server.key")), cert: readFileSync(fixture("server.pem")) },
    listener,
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Of the answer at `https://bank.internal/large`, which no route lists. */
export const largeLength = 8 * 1024 * 1024;

export interface GuardedStack extends CliStack {
  /** A host that no upstream lists, with a certificate of its own. */
  readonly otherHost: string;
  /** The upstream's own address, which only the enforcement point should call. */
  readonly bankHost: string;
  args(flags: readonly string[], command: readonly string[]): readonly string[];
  run(flags: readonly string[], command: readonly string[], env?: Readonly<Record<string, string>>): Started;
}

const routes = [{ methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance.entries" }];

/** `svc run` for `https://bank.internal` and `http://ledger.internal`, and a host beside them. */
export async function startGuardedStack(): Promise<GuardedStack> {
  const stack = await startCliStack();
  const bank = await startedTlsServer((request, response) => {
    if (request.url === "/large") return void response.end("x".repeat(largeLength));
    response.end(`bank ${request.url} ${request.headers.authorization?.slice(0, 9)}`);
  });
  const other = await startedTlsServer((request, response) => {
    response.end(`other ${request.url} ${request.headers.authorization}`);
  });
  const { upstreams: listed } = JSON.parse(readFileSync(stack.upstreams, "utf8"));
  const upstream = { name: "bank", url: `https://${bank.host}`, hosts: ["bank.internal"], routes };
  const upstreams = join(stack.folder, "guarded.json");
  writeFileSync(
    upstreams,
    JSON.stringify({ upstreams: [...listed, { ...upstream, tls: { ca_file: fixture("ca.pem") } }] }),
  );
  const clerk = join(stack.folder, "clerk.json");
  writeFileSync(clerk, JSON.stringify(clerkManifest));
  await stack.svc("manifest", "submit", clerk, "--override", "a test");
  const args = (flags: readonly string[], command: readonly string[]) => [
    ...["run", "--scope", "books", "--user", "ada", "--agent", "clerk", "--upstreams", upstreams],
    ...[...flags, "--", ...command],
  ];
  return {
    ...stack,
    upstreams,
    otherHost: other.host,
    bankHost: bank.host,
    args,
    run: (flags, command, env = {}) => start(args(flags, command), { ...stack.env, ...env }),
    async stop() {
      bank.stop();
      other.stop();
      await stack.stop();
    },
  };
}

/** The command that runs a program of this text. */
export function nodeProgram(text: string): readonly string[] {
  return [process.execPath, "--input-type=module", "-e", text];
}

/** A file in a folder of its own, which the stack removes. */
export function fileIn(stack: CliStack, name: string, content: string): string {
  const file = join(mkdtempSync(join(stack.folder, "program-")), name);
  writeFileSync(file, content);
  return file;
}

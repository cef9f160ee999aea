/**
 * A scripted MCP server over stdio, without any library: its tools do to the client what servers should not, or report
 * what they received. `stateless` as its first argument: it speaks 2026-07-28 alone; `broken`: it ends at its start.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [, , kind, ...args] = process.argv;
if (kind === "broken") process.exit(3);
const isStateless = kind === "stateless";
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let calls = 0;
const cancelled = [];
const answers = [];
const hoard = [];

const tools = {
  count: () => ({ calls, pid: process.pid }),
  environment: () => ({ env: process.env, cwd: process.cwd(), args }),
  received: (_message, line) => ({ line }),
  cancelled: () => ({ cancelled }),
  answers: () => ({ answers }),
  silent: () => undefined,
  crash: () => process.exit(3),
  noise: () => {
    process.stdout.write('Listening...\n\n[1]\n{"jsonrpc":"2.0"}\n');
    process.stderr.write("a secret on standard error\n");
    return { noisy: true };
  },
  long: ({ params }) => {
    process.stdout.write(`${"x".repeat(params.arguments.bytes)}\n`);
    return { long: true };
  },
  large: ({ params }) => ({ text: "x".repeat(params.arguments.bytes) }),
  hoard: ({ params }) => {
    hoard.push(Buffer.alloc(params.arguments.mib * 1024 * 1024, 1));
  },
  spawn: () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
    return { pid: child.pid };
  },
  ask: () => {
    send({ id: "asked", method: "roots/list" });
  },
  progress: ({ params }) => {
    for (const progress of [1, 2]) {
      send({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, progress } });
    }
    return { done: true };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  const { id, method, params } = message;
  if (method === "notifications/cancelled") cancelled.push(params.requestId);
  if (method === undefined) answers.push(line);
  if (id === undefined || method === undefined) return;
  if (method === "initialize") {
    if (isStateless) return send({ id, error: { code: -32601, message: "initialize" } });
    return send({
      id,
      result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } },
    });
  }
  if (method === "server/discover" && isStateless) return send({ id, result: { supportedVersions: ["2026-07-28"] } });
  if (method === "subscriptions/listen" && isStateless) {
    const meta = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    return send({ method: "notifications/subscriptions/acknowledged", params: meta });
  }
  if (method !== "tools/call") return send({ id, error: { code: -32601, message: "no such method" } });
  calls += 1;
  const result = tools[params.name](message, line);
  if (result !== undefined) send({ id, result });
});
// A server that outlives its input is ended all the same.
if (args.includes("stubborn")) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}

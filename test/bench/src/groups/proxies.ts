import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { startNginx } from "../rig/nginx.ts";
import { type RunningServer, startServer } from "../rig/node-server.ts";
import { findProgram } from "../rig/program.ts";
import { type Stack, startStack } from "../rig/stack.ts";
import { warmUp } from "./hop-rig.ts";

export const proxiesTrial = "proxies";
const connections = 32;

/** Proxies by name, with the enforcement point's own forwarding; an unavailable one is reported as missing. */
export interface Proxies {
  readonly servers: ReadonlyMap<string, RunningServer>;
  /** The prefix that the proxy expects before the upstream's own path. */
  prefixOf(name: string): string;
}

const nodeProxies = {
  "http-proxy-3": "servers/http-proxy-3.ts",
  "reply-from": "servers/reply-from.ts",
  skeleton: "reference/skeleton/pass-through.ts",
};

/** Observing, and forwarding undecided calls too: only the proxy works. */
export const startForwarding = (bench: Bench): Promise<Stack> =>
  startStack({
    stores: bench.stores,
    upstream: bench.upstream.url,
    pepEnv: () => ({ SVC_PEP_MODE: "observe", SVC_PEP_OBSERVE_UNDECIDED: "forward", SVC_LOG_LEVEL: "error" }),
  });

export async function startProxies(bench: Bench): Promise<Proxies> {
  const stack = bench.use(await startForwarding(bench));
  const upstream = bench.upstream.url;
  const pep: RunningServer = { url: stack.pep.url, pid: stack.pep.pid, stop: async () => {} };
  const servers = new Map<string, RunningServer>([
    ["direct", bench.upstream],
    ["PEP", pep],
  ]);
  const nginx = findProgram("nginx");
  if ("why" in nginx) bench.missing("nginx", nginx.why);
  else servers.set("nginx", bench.use(await startNginx(nginx.path, upstream)));
  for (const [name, file] of Object.entries(nodeProxies)) {
    servers.set(name, bench.use(await startServer(file, [upstream])));
  }
  return { servers, prefixOf: (name) => (name === "PEP" ? "/bench" : "") };
}

export async function proxies(bench: Bench, { servers, prefixOf }: Proxies): Promise<void> {
  const subjects: Subject[] = [];
  const { seconds } = bench.pace;
  for (const [name, { url, pid }] of servers) {
    const target = { origin: url, call: () => ({ path: `${prefixOf(name)}/read` }) };
    await warmUp(bench, target);
    subjects.push(loaded({ name, connections, seconds, processes: { [name]: pid }, target: () => target }));
  }
  await bench.trial(proxiesTrial, subjects);
}

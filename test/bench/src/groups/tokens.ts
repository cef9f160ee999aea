import { hopLines } from "@svc/hop";
import { Pool, request } from "undici";
// By its path: only the apps' own tests and their benchmark may import it.
import { undiciTransport } from "../../../../apps/pep/src/decide/undici-transport.ts";
import type { Processes } from "../measure/cpu.ts";
import { loaded } from "../measure/loaded.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startServer } from "../rig/node-server.ts";
import { type TokenStock, tokenStock } from "../rig/tokens.ts";
import { type HopRig, warmUp } from "./hop-rig.ts";
import { processesOf, readHop } from "./hop-targets.ts";

export const tokensTrial = "tokens";
const connections = 32;

/** Hops by the control plane alone, asked for as the enforcement point does, against an issuer that only issues. */
export async function tokens(bench: Bench, { stack, line, skeleton }: HopRig): Promise<void> {
  const { seconds } = bench.pace;
  const [credential] = await (await liveAgents(stack, line, 1, 1)).current();
  if (credential === undefined) throw new Error("no agent was made");
  const stock = tokenStock(stack.key, credential);
  const ours = hopsAlone(bench, {
    name: "hops",
    url: stack.controlPlane.url,
    processes: processesOf(stack, bench.stores),
    sessionId: credential.sessionId,
    async tokens() {
      await stock.fill(connections);
      return stock;
    },
  });
  const { controlPlane, processes: bareProcesses, sessionId, tokens } = skeleton;
  const bare = hopsAlone(bench, {
    ...{ name: "skeleton", url: controlPlane.url, processes: bareProcesses, sessionId },
    tokens: async () => tokens,
  });
  const provider = bench.use(await startServer("servers/oidc-provider.ts"));
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: "bench",
    client_secret: "a-secret-of-the-benchmark",
    scope: "bench",
    resource: "urn:bench",
  }).toString();
  const target = {
    origin: provider.url,
    call: () => ({
      method: "POST" as const,
      path: "/token",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: form,
    }),
  };
  const processes = { "oidc-provider": provider.pid };
  const grants = loaded({ name: "oidc-provider", connections, seconds, processes, target: () => target });
  await issuesTokens(provider.url, form);
  await warmUp(bench, target);
  await bench.trial(tokensTrial, [ours, bare, grants]);
}

interface HopsAlone {
  readonly name: string;
  readonly url: string;
  readonly processes: Processes;
  readonly sessionId: string;
  /** Called before each sample; each caller takes one. */
  readonly tokens: () => Promise<Pick<TokenStock, "take">>;
}

const deadlineMs = 10_000;

/** Callers in one process, whose hops of a turn share a request; each has the sibling of its last hop. */
function hopsAlone(bench: Bench, { name, url, processes, sessionId, tokens }: HopsAlone): Subject {
  const pool = new Pool(url, { allowH2: false, pipelining: 1, connections: 64 });
  bench.use({ stop: () => pool.destroy() });
  const lines = hopLines(undiciTransport(pool, new URL(url)), () => performance.now());
  let held: string[] = [];
  return repeated({
    ...{ name, seconds: bench.pace.seconds, connections, processes },
    async prepare() {
      const { take } = await tokens();
      held = Array.from({ length: connections }, take);
    },
    async act(connection) {
      const token = held[connection] ?? "";
      const answer = await lines.take(
        { ...readHop, sessionId, token, enforced: true, bodySettled: true },
        { deadlineMs },
      );
      if (answer.sibling === undefined) throw new Error(`a hop was refused: ${JSON.stringify(answer)}`);
      held[connection] = answer.sibling.token;
    },
  });
}

/** Otherwise a refusal would be compared with a token. */
async function issuesTokens(url: string, form: string): Promise<void> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await request(`${url}/token`, { method: "POST", headers, body: form });
  const text = await answer.body.text();
  if (!/"access_token":"[^".]+\.[^".]+\.[^".]+"/.test(text)) throw new Error(`oidc-provider issues no JWT: ${text}`);
}

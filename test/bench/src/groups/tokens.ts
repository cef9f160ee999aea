import { request } from "undici";
import { loaded } from "../measure/loaded.ts";
import { repeated } from "../measure/repeated.ts";
import { untilAvailable } from "../rig/admin.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startServer } from "../rig/node-server.ts";
import { tokenStock } from "../rig/tokens.ts";
import type { HopRig } from "./hop-rig.ts";
import { authorizeAndExchange, processesOf } from "./hop-targets.ts";

export const tokensTrial = "tokens";
const connections = 32;

/** A decision on record and a narrowed token, against an issuer that only issues, from memory. */
export async function tokens(bench: Bench, { stack, line, skeleton }: HopRig): Promise<void> {
  const { seconds } = bench.pace;
  const [credential] = await (await liveAgents(stack, line, 1, 1)).current();
  if (credential === undefined) throw new Error("no agent was made");
  const stock = tokenStock(stack.key, credential);
  const ours = repeated({
    name: "authorize + exchange",
    seconds,
    connections,
    processes: processesOf(stack, bench.stores),
    prepare: () => stock.fill(Math.ceil(seconds * 6_000)),
    act: () => untilAvailable(() => authorizeAndExchange(stack.controlPlane.url, credential.sessionId, stock.take())),
  });
  const bare = repeated({
    name: "skeleton",
    seconds,
    connections,
    processes: { ...skeleton.processes, pep: 0 },
    act: () => authorizeAndExchange(skeleton.controlPlane.url, skeleton.sessionId, skeleton.tokens.take()),
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
  await bench.trial(tokensTrial, [ours, bare, grants]);
}

/** Else a refusal would be compared with a token. */
async function issuesTokens(url: string, form: string): Promise<void> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await request(`${url}/token`, { method: "POST", headers, body: form });
  const text = await answer.body.text();
  if (!/"access_token":"[^".]+\.[^".]+\.[^".]+"/.test(text)) throw new Error(`oidc-provider issues no JWT: ${text}`);
}

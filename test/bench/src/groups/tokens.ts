import { request } from "undici";
import { loaded } from "../measure/loaded.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startServer } from "../rig/node-server.ts";
import { tokenStock } from "../rig/tokens.ts";
import { type HopRig, warmUp } from "./hop-rig.ts";
import { authorizingAndExchanging, processesOf } from "./hop-targets.ts";

export const tokensTrial = "tokens";
const connections = 32;

/** A recorded decision and a narrowed token, against an issuer that only issues, from memory. */
export async function tokens(bench: Bench, { stack, line, skeleton }: HopRig): Promise<void> {
  const { seconds } = bench.pace;
  const [credential] = await (await liveAgents(stack, line, 1, 1)).current();
  if (credential === undefined) throw new Error("no agent was made");
  const stock = tokenStock(stack.key, credential);
  const ours = loaded({
    name: "authorize + exchange",
    connections,
    seconds,
    processes: processesOf(stack, bench.stores),
    async target() {
      await stock.fill(Math.ceil(seconds * 6_000));
      return authorizingAndExchanging(stack, credential.sessionId, stock);
    },
  });
  const bare = loaded({
    name: "skeleton",
    connections,
    seconds,
    processes: skeleton.processes,
    target: () => authorizingAndExchanging(skeleton, skeleton.sessionId, skeleton.tokens),
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

/** Otherwise a refusal would be compared with a token. */
async function issuesTokens(url: string, form: string): Promise<void> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await request(`${url}/token`, { method: "POST", headers, body: form });
  const text = await answer.body.text();
  if (!/"access_token":"[^".]+\.[^".]+\.[^".]+"/.test(text)) throw new Error(`oidc-provider issues no JWT: ${text}`);
}

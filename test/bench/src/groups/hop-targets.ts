import type { Call, Target } from "../measure/load.ts";
import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import type { AgentLine, Credential } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { authorizeBody } from "../rig/hop-bodies.ts";
import { type LiveAgents, liveAgents } from "../rig/live-agents.ts";
import { readTool, type Stack } from "../rig/stack.ts";
import type { Stores } from "../rig/stores.ts";
import type { TokenStock } from "../rig/tokens.ts";

export const readHop = { target: readTool.ref, targetKind: "tool", dataClass: "bench" } as const;

/** A call through the enforcement point; each connection is its own agent. */
export async function throughPep({ pep }: Stack, agents: LiveAgents): Promise<Target> {
  const credentials = await agents.current();
  return {
    origin: pep.url,
    call: (connection) => ({ path: "/bench/read", headers: hopHeaders(credentials[connection]) }),
  };
}

/** A stack that hops go through, and the agents that make them. */
export interface HopStack {
  readonly stack: Stack;
  readonly line: AgentLine;
}

/** Hops of this many agents at once, each with a connection of its own. */
export async function hopsOf(
  { pace, stores }: Bench,
  name: string,
  { stack, line }: HopStack,
  connections: number,
): Promise<Subject> {
  const agents = await liveAgents(stack, line, 1, connections);
  const processes = processesOf(stack, stores);
  return loaded({ name, connections, seconds: pace.seconds, processes, target: () => throughPep(stack, agents) });
}

export const hopHeaders = (credential: Credential | undefined): Record<string, string> => {
  if (credential === undefined) throw new Error("no credentials were made");
  return { authorization: `Bearer ${credential.token}`, "x-svc-session": credential.sessionId };
};

export const processesOf = ({ controlPlane, pep }: Stack, { postgresPid, redisPid }: Stores) => ({
  "control plane": controlPlane.pid,
  pep: pep.pid,
  PostgreSQL: postgresPid,
  Redis: redisPid,
});

/** A control plane or a replacement of it. */
interface Deciding {
  readonly controlPlane: { readonly url: string };
}

type Tokens = Pick<TokenStock, "take">;

/** Decisions alone, each with a token not seen before. */
export const authorizing = ({ controlPlane }: Deciding, sessionId: string, tokens: Tokens): Target => ({
  origin: controlPlane.url,
  call: () => authorizeCall(sessionId, tokens.take()),
});

const authorizeCall = (sessionId: string, token: string): Call => ({
  method: "POST",
  path: "/v1/authorize",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: authorizeBody(sessionId, readHop),
});

import type { Call, Target } from "../measure/load.ts";
import type { Credential } from "../rig/agents.ts";
import { authorizeBody, exchangeBody } from "../rig/hop-bodies.ts";
import type { LiveAgents } from "../rig/live-agents.ts";
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

/** One authorize and its exchange, counted as one call. */
export const authorizingAndExchanging = ({ controlPlane }: Deciding, sessionId: string, tokens: Tokens): Target => ({
  origin: controlPlane.url,
  call() {
    const token = tokens.take();
    return {
      ...authorizeCall(sessionId, token),
      next: (decision) => exchangeCall(token, JSON.parse(decision).action_id),
    };
  },
});

const authorizeCall = (sessionId: string, token: string): Call => ({
  method: "POST",
  path: "/v1/authorize",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: authorizeBody(sessionId, readHop),
});

const exchangeCall = (token: string, actionId: string): Call => ({
  method: "POST",
  path: "/v1/token/exchange",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: exchangeBody(token, readHop, actionId),
});

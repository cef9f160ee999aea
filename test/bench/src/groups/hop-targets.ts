import type { Target } from "../measure/load.ts";
import { post } from "../rig/admin.ts";
import type { Credential } from "../rig/agents.ts";
import { authorizeBody, exchangeBody } from "../rig/hop-bodies.ts";
import type { LiveAgents } from "../rig/live-agents.ts";
import { readTool, type Stack } from "../rig/stack.ts";
import type { Stores } from "../rig/stores.ts";
import type { TokenStock } from "../rig/tokens.ts";

export const readHop = { target: readTool.ref, targetKind: "tool", dataClass: "bench" } as const;

/** A call through the enforcement point; each connection is an agent of its own. */
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

/** Decisions alone, each with a token that was not seen before. */
export const authorizing = (
  { controlPlane }: { readonly controlPlane: { readonly url: string } },
  sessionId: string,
  tokens: Pick<TokenStock, "take">,
): Target => {
  const body = authorizeBody(sessionId, readHop);
  return {
    origin: controlPlane.url,
    call: () => ({
      method: "POST",
      path: "/v1/authorize",
      headers: { authorization: `Bearer ${tokens.take()}`, "content-type": "application/json" },
      body,
    }),
  };
};

/** One authorize and its exchange. */
export async function authorizeAndExchange(url: string, sessionId: string, token: string): Promise<string> {
  const decision = await post<{ action_id: string }>(
    `${url}/v1/authorize`,
    token,
    "application/json",
    authorizeBody(sessionId, readHop),
  );
  const answer = await post<{ access_token: string }>(
    `${url}/v1/token/exchange`,
    undefined,
    "application/x-www-form-urlencoded",
    exchangeBody(token, readHop, decision.action_id),
  );
  return answer.access_token;
}

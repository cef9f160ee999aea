import { admin, post } from "./admin.ts";
import { authorizeBody, exchangeBody, type HopTarget } from "./hop-bodies.ts";
import { readTool, writeTool } from "./stack.ts";

/** A session and an agent's token of it. */
export interface Credential {
  readonly sessionId: string;
  readonly token: string;
}

export interface AgentLine {
  readonly scope: string;
  /** In order of delegation; the last uses the tools. */
  readonly agents: readonly string[];
}

/** Agents that delegate to each other in a row, as long as the longest requested chain: each prefix may use tools. */
export async function registerLine(controlPlaneUrl: string, scope: string, length: number): Promise<AgentLine> {
  const agents = Array.from({ length }, (_, index) => `${scope}-agent-${index + 1}`);
  for (const [index, name] of agents.entries()) {
    const next = agents[index + 1];
    await admin(controlPlaneUrl, "/v1/agents", {
      name,
      manifest: {
        scopes: {
          [scope]: {
            hop_budget: Math.min(32, length + 1),
            tools: [readTool, writeTool],
            ...(next !== undefined && { downstream_agents: [next] }),
          },
        },
      },
      override: { reason: "a benchmark" },
    });
  }
  return { scope, agents };
}

interface ConsentAnswer {
  readonly session_id: string;
  readonly root_grant: string;
}

/**
 * A new session, delegated down the line: the token of the agent at `chain`, counted from 1.
 * @param dataClass what is delegated; several, space-separated
 */
export async function delegate(
  controlPlaneUrl: string,
  line: AgentLine,
  chain: number,
  dataClass = "bench",
): Promise<Credential> {
  const consent = await admin<ConsentAnswer>(controlPlaneUrl, "/v1/consent", { scope: line.scope, user_sub: "bench" });
  let credential = { sessionId: consent.session_id, token: consent.root_grant };
  for (const target of line.agents.slice(0, chain)) {
    const delegation = { target, targetKind: "agent" as const, dataClass };
    credential = { ...credential, token: await takeHop(controlPlaneUrl, credential, delegation) };
  }
  return credential;
}

/** The narrowed token for a target. */
export async function takeHop(
  controlPlaneUrl: string,
  { sessionId, token }: Credential,
  target: HopTarget,
): Promise<string> {
  const decision = await post<{ action_id: string; decision: string }>(
    `${controlPlaneUrl}/v1/authorize`,
    token,
    "application/json",
    authorizeBody(sessionId, target),
  );
  if (decision.decision !== "allow") throw new Error(`${target.target} was denied: ${JSON.stringify(decision)}`);
  const answer = await post<{ access_token: string }>(
    `${controlPlaneUrl}/v1/token/exchange`,
    undefined,
    "application/x-www-form-urlencoded",
    exchangeBody(token, target, decision.action_id),
  );
  return answer.access_token;
}

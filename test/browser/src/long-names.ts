import type { ConsentResponse } from "@svc/core";
import { type Api, authorize, hopTo } from "./story.ts";

/** Names as long as they may be, without a place to wrap, and turned round where a name may hold any character. */
export const longNames = {
  agent: "a".repeat(128),
  delegate: "b".repeat(128),
  tool: `http:${"t".repeat(250)}`,
  web: `http:${"u".repeat(250)}`,
  undeclared: `http:${"v".repeat(250)}`,
  dataClass: "d".repeat(255),
  scope: `scope\u202e${"W".repeat(249)}`,
  userSub: `eve\u202e${"W".repeat(251)}`,
  reason: "R".repeat(1000),
} as const;

/** What the pages of the long names are about. */
export interface LongNames {
  readonly sessionId: string;
  readonly allowed: string;
  readonly denied: string;
}

/** Two agents, a chain, denies, a mark, blocks and a revocation, all of them with long names. */
export async function createLongNames(api: Api): Promise<LongNames> {
  const { agent, delegate, tool, web, undeclared, dataClass, scope, userSub, reason } = longNames;
  const override = { reason };
  const tools = [
    { ref: tool, data_classes: [dataClass] },
    { ref: web, data_classes: [dataClass], access: "write", result_taint: "untrusted_external" },
  ];
  const declare = (members: object) => ({ scopes: { [scope]: { hop_budget: 4, tools, ...members } } });
  await api("/v1/agents", { json: { name: agent, manifest: declare({ downstream_agents: [delegate] }), override } });
  await api("/v1/agents", { json: { name: delegate, manifest: declare({ tools: tools.slice(1) }), override } });
  await api("/v1/manifests", { json: { agent: delegate, manifest: declare({}), override } });

  const session = await api<ConsentResponse>("/v1/consent", { json: { scope, user_sub: userSub } });
  const sessionId = session.session_id;
  const spare = async (token: string) =>
    (await api<{ tokens: string[] }>("/v1/token/renew", { bearer: token, json: { count: 8 } })).tokens;
  const call = { sessionId, dataClass };
  const acting = await hopTo(api, { ...call, token: session.root_grant, target: agent, targetKind: "agent" });
  const [one = "", two = "", three = "", four = "", five = ""] = await spare(acting.token);
  const delegated = await hopTo(api, { ...call, token: one, target: delegate, targetKind: "agent" });
  const { actionId: allowed } = await hopTo(api, { ...call, token: delegated.token, target: web });
  const denied = await authorize(api, { ...call, token: two, target: undeclared });
  const observed = { ...call, enforced: false };
  await authorize(api, { ...observed, token: three, target: undeclared });
  await authorize(api, { ...observed, token: four, target: tool, dataClass: "e".repeat(255) });

  for (const [kind, name] of [
    ["tool", tool],
    ["agent", delegate],
    ["scope", scope],
  ] as const) {
    await api(`/v1/blocks/${kind}/${encodeURIComponent(name)}`, { method: "PUT", json: { reason } });
  }
  await authorize(api, { ...call, token: five, target: delegate, targetKind: "agent" });
  const ended = await api<ConsentResponse>("/v1/consent", { json: { scope: "expenses", user_sub: userSub } });
  await api(`/v1/sessions/${ended.session_id}/revoke`, { json: { reason } });
  return { sessionId, allowed, denied: denied.action_id };
}

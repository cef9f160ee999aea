import type { AuthorizeResponse, ConsentResponse, ExchangeResponse } from "@svc/core";
import { type ControlPlane, testBearers } from "@svc/test-support";

/** An API call's bearer and body. */
interface Call {
  readonly bearer?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Of a refusal that is part of the story. */
  readonly status?: number;
}

/** Calls the service as its users do; throws for any status but success. */
export function apiOf({ url }: Pick<ControlPlane, "url">) {
  return async <Body>(
    path: string,
    { bearer = testBearers.admin, json, form, method, status }: Call = {},
  ): Promise<Body> => {
    const response = await fetch(`${url}${path}`, {
      method: method ?? (json === undefined && form === undefined ? "GET" : "POST"),
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(json !== undefined && { "content-type": "application/json" }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(form !== undefined && { body: new URLSearchParams(form) }),
    });
    const text = await response.text();
    if (!response.ok && response.status !== status) throw new Error(`${path} returned ${response.status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as Body;
  };
}
export type Api = ReturnType<typeof apiOf>;

interface Hop {
  readonly token: string;
  readonly sessionId: string;
  readonly target: string;
  readonly targetKind?: "tool" | "agent";
  readonly dataClass: string;
  readonly enforced?: boolean;
}

/** The decision alone. */
export const authorize = (api: Api, hop: Hop): Promise<AuthorizeResponse> =>
  api("/v1/authorize", {
    bearer: hop.token,
    json: {
      session_id: hop.sessionId,
      target: hop.target,
      target_kind: hop.targetKind ?? "tool",
      data_class: hop.dataClass,
      enforced: hop.enforced ?? true,
    },
  });

/** Decides and exchanges: the token of the next hop. */
export async function hopTo(api: Api, hop: Hop): Promise<{ token: string; actionId: string }> {
  const { action_id: actionId, decision, deny_reason: reason } = await authorize(api, hop);
  if (decision !== "allow") throw new Error(`${hop.target} was denied: ${reason}`);
  const { access_token: token } = await api<ExchangeResponse>("/v1/token/exchange", {
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: hop.token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: hop.target,
      scope: hop.dataClass,
      action_id: actionId,
    },
  });
  return { token, actionId };
}

const noDiscovery = { override: { reason: "pilot: its servers are not reachable from here" } };

const tools = {
  read: { ref: "http:ledger/read_entry", data_classes: ["finance.entries"] },
  post: { ref: "http:ledger/post_entry", data_classes: ["finance.entries"], access: "write", privileged: true },
  browse: { ref: "mcp:web/fetch", data_classes: ["web"], result_taint: "untrusted_external" },
  book: { ref: "http:travel/book", data_classes: ["travel.bookings"], access: "write", privileged: true },
  search: { ref: "http:travel/search", data_classes: ["travel.offers"] },
};

/** Three agents under two scopes; the planner's manifest in two versions, the auditor's second one not in force. */
async function register(api: Api): Promise<void> {
  const planner = (planned: readonly object[]) => ({
    scopes: {
      expenses: { hop_budget: 4, tools: planned, downstream_agents: ["auditor", "researcher"] },
      travel: { hop_budget: 3, tools: [tools.search, tools.book] },
    },
  });
  await api("/v1/agents", { json: { name: "planner", manifest: planner([tools.read]), ...noDiscovery } });
  const auditor = { scopes: { expenses: { hop_budget: 4, tools: [tools.read, tools.post] } } };
  await api("/v1/agents", { json: { name: "auditor", manifest: auditor, ...noDiscovery } });
  const researcher = {
    scopes: { expenses: { hop_budget: 4, entry: true, tools: [tools.browse], downstream_agents: ["auditor"] } },
  };
  await api("/v1/agents", { json: { name: "researcher", manifest: researcher, ...noDiscovery } });
  const unvouched = { ...tools.read, ref: "http:ledger/close_year" };
  const refused = { agent: "auditor", manifest: { scopes: { expenses: { hop_budget: 4, tools: [unvouched] } } } };
  await api("/v1/manifests", { json: refused, status: 409 });
  const second = { agent: "planner", manifest: planner([tools.read, tools.post]), ...noDiscovery };
  await api("/v1/manifests", { json: second });
}

/** What the tests look up afterwards. */
export interface Story {
  readonly sessionId: string;
  /** An allowed call at the end of a chain of three. */
  readonly allowed: string;
  /** Denied and enforced. */
  readonly denied: string;
  /** Denied for taint. */
  readonly tainted: string;
  /** A session that was revoked. */
  readonly ended: string;
  /** The policy's versions by scope, and sessions for a generated history. */
  readonly sessions: readonly ConsentResponse[];
}

/** A pilot: consents, chains, denies, observe mode, taint, a block, a revocation. All by the API. */
export async function createStory(api: Api): Promise<Story> {
  await register(api);
  const consent = (scope: string, userSub: string): Promise<ConsentResponse> =>
    api("/v1/consent", { json: { scope, user_sub: userSub } });
  const session = await consent("expenses", "ada@example.com");
  const sessionId = session.session_id;
  const spare = async (token: string): Promise<readonly string[]> =>
    (await api<{ tokens: string[] }>("/v1/token/renew", { bearer: token, json: { count: 8 } })).tokens;
  const [first = "", second = ""] = await spare(session.root_grant);
  const planner = await hopTo(api, {
    token: first,
    sessionId,
    target: "planner",
    targetKind: "agent",
    dataClass: "finance.entries",
  });
  const [one = "", two = "", three = "", four = ""] = await spare(planner.token);
  const auditor = await hopTo(api, {
    token: one,
    sessionId,
    target: "auditor",
    targetKind: "agent",
    dataClass: "finance.entries",
  });
  const read = { sessionId, target: "http:ledger/read_entry", dataClass: "finance.entries" };
  const allowed = await hopTo(api, { ...read, token: auditor.token });
  const denied = await authorize(api, { ...read, token: two, target: "http:ledger/delete_entry" });
  const observed = { sessionId, token: three, enforced: false };
  await authorize(api, { ...observed, target: "http:crm/read_contact", dataClass: "crm.contacts" });
  await authorize(api, { ...observed, target: "http:crm/read_contact", dataClass: "crm.contacts" });
  await authorize(api, { ...observed, target: "http:ledger/read_entry", dataClass: "hr.salaries" });
  await authorize(api, { ...read, token: four });

  const web = await consent("expenses", "grace@example.com");
  const researcher = await hopTo(api, {
    token: web.root_grant,
    sessionId: web.session_id,
    target: "researcher",
    targetKind: "agent",
    dataClass: "web finance.entries",
  });
  const [browsing = "", delegating = ""] = await spare(researcher.token);
  await hopTo(api, { token: browsing, sessionId: web.session_id, target: "mcp:web/fetch", dataClass: "web" });
  const influenced = await hopTo(api, {
    token: delegating,
    sessionId: web.session_id,
    target: "auditor",
    targetKind: "agent",
    dataClass: "finance.entries",
  });
  const post = { sessionId: web.session_id, target: "http:ledger/post_entry", dataClass: "finance.entries" };
  const tainted = await authorize(api, { ...post, token: influenced.token });

  const trip = await consent("travel", "ada@example.com");
  const ended = await consent("travel", "linus@example.com");
  await api(`/v1/sessions/${ended.session_id}/revoke`, { json: { reason: "consented by mistake" } });
  const block = { reason: "the vendor reports a breach; until its keys are rotated" };
  await api("/v1/blocks/tool/http:travel%2Fbook", { method: "PUT", json: block });
  await authorize(api, {
    ...read,
    token: second,
    target: "planner",
    targetKind: "agent",
    dataClass: "finance.entries",
  });
  return {
    sessionId,
    allowed: allowed.actionId,
    denied: denied.action_id,
    tainted: tainted.action_id,
    ended: ended.session_id,
    sessions: [session, web, trip],
  };
}

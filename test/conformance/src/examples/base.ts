import type { TestDatabase } from "@svc/test-support";
import type { Answer, Api } from "../api.ts";
import { clerkSession, ledgerHops, registerLedger } from "../ledger.ts";

export const scope = "documented";
export const hops = ledgerHops(scope);
export const clerk = hops.clerk.target;
export const unknownId = "01a00000-0000-7000-8000-000000000000";

/** A scope with its agents, shared by the examples. */
export const prepare = (api: Api): Promise<void> => registerLedger(api, scope);

/**
 * Calls of one route: at least one that succeeds, and every documented refusal that no mistake common to all routes
 * causes. The database is for rows that today's service no longer writes.
 */
export type Example = (api: Api, database: TestDatabase) => Promise<readonly Answer[]>;
/** By the document's operation name. */
export type Examples = Readonly<Record<string, Example>>;

const bearing =
  (plane: keyof Api["tokens"]) =>
  (api: Api, method: string, path: string, body?: unknown): Promise<Answer> =>
    api.call(method, path, { bearer: api.tokens[plane], ...(body !== undefined && { body }) });
export const admin = bearing("admin");
export const audit = bearing("audit");
export const identity = bearing("identity");
export const enforcement = bearing("enforcement");

/** In order: later examples may depend on earlier ones. */
export const inTurn = async (...calls: readonly (() => Promise<Answer>)[]): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  for (const call of calls) answers.push(await call());
  return answers;
};

export const agentId = async (api: Api, name: string = clerk): Promise<string> =>
  (await admin(api, "GET", `/v1/agents/resolve?name=${name}`)).body.agent_id;

let agents = 0;
export const newName = (): string => `documented-${++agents}`;
/** An agent of this example alone. */
export async function newAgent(api: Api): Promise<string> {
  const name = newName();
  await api.attest(name, { [`${scope}-aside`]: { hop_budget: 2 } });
  return name;
}

export async function revokedAgent(api: Api): Promise<string> {
  const name = await newAgent(api);
  await admin(api, "POST", `/v1/agents/${await agentId(api, name)}/revoke`, {});
  return name;
}

export const anAction = async (api: Api): Promise<string> => {
  const { session, clerk: held } = await clerkSession(api, scope);
  return (await api.authorize(session, held.token, hops.read)).body.action_id;
};

/** The mint's input: the token of an exchange for a privileged call. */
export async function narrowedToken(api: Api): Promise<string> {
  const { session, clerk: held } = await clerkSession(api, scope);
  return (await api.hop(session, held.token, hops.post)).token;
}

export const endSession = (api: Api, session: string) => admin(api, "POST", `/v1/sessions/${session}/revoke`, {});

import type { SigningKey } from "@svc/tokens";
import { afterAll, expect } from "vitest";
import type { Answer, Hop } from "./api.ts";
import { startIdentityStack } from "./identity-stack.ts";
import { startSpanReceiver } from "./span-receiver.ts";

/** The entry agents planner, teller and idle, of which teller has a tool; clerk and stray are delegated to. */
const names = ["planner", "teller", "idle", "clerk"] as const;

export const hop = {
  planner: { target: "planner", target_kind: "agent", data_class: "finance" },
  clerk: { target: "clerk", target_kind: "agent", data_class: "finance" },
  stray: { target: "stray", target_kind: "agent", data_class: "finance" },
  read: { target: "http:books/read", target_kind: "tool", data_class: "finance" },
  post: { target: "http:books/post", target_kind: "tool", data_class: "finance" },
  pay: { target: "http:till/pay", target_kind: "tool", data_class: "finance" },
} as const satisfies Record<string, Hop>;

const tool = (ref: string, more: object = {}) => ({ ref, data_classes: ["finance"], ...more });
const manifests = {
  planner: { downstream_agents: ["clerk", "stray"] },
  teller: { tools: [tool(hop.pay.target, { privileged: true })] },
  idle: {},
  clerk: { tools: [tool(hop.read.target), tool(hop.post.target, { privileged: true })] },
  stray: { tools: [tool(hop.read.target)] },
};

/** A control plane that requires identities, for a test file: all agents but stray are enrolled. */
export async function requiringIdentities() {
  const receiver = await startSpanReceiver();
  const stack = await startIdentityStack({ SVC_IDENTITY_REQUIRED: "true", ...receiver.env });
  const { api } = stack;
  afterAll(async () => {
    await stack.stop();
    await receiver.stop();
  });
  for (const [name, scope] of Object.entries(manifests)) {
    const { status, text } = await api.attest(name, { books: { hop_budget: 4, ...scope } });
    if (status !== 201) throw new Error(text);
  }
  const keys = new Map<string, SigningKey>();
  const enroll = async (agent: string) => void keys.set(agent, await stack.enrolled(agent, stack.provider));
  for (const name of names) await enroll(name);
  const keyOf = (agent: string): SigningKey => {
    const key = keys.get(agent);
    if (key === undefined) throw new Error(`${agent} has no key`);
    return key;
  };
  /** The form fields of an agent's proof for an exchange of this token. */
  const proofOf = async (agent: string, token: string, key = keyOf(agent)) => ({
    actor_token: await stack.actorToken(agent, key, token),
    actor_token_type: "urn:ietf:params:oauth:token-type:jwt",
  });
  const actionFor = async (session: string, token: string, asked: Hop): Promise<string> =>
    (await api.authorize(session, token, asked)).body.action_id;
  /** Decides, and exchanges with the prover's proof. */
  async function take(session: string, token: string, asked: Hop, prover: string) {
    const action = await actionFor(session, token, asked);
    const { status, body, text } = await api.exchange(token, asked, action, await proofOf(prover, token));
    if (status !== 200) throw new Error(`exchange: ${text}`);
    return { token: body.access_token as string, action };
  }
  async function failures(cause: string): Promise<number> {
    const { text } = await api.call("GET", "/metrics");
    const sample = new RegExp(`^svc_exchange_pop_failures_total\\{cause="${cause}"\\} (\\d+)$`, "m");
    return Number(sample.exec(text)?.[1] ?? 0);
  }
  return {
    receiver,
    stack,
    api,
    keyOf,
    /** Enrolls again with another key. */
    enroll,
    proofOf,
    actionFor,
    take,
    async clerkToken() {
      const { session, token: root } = await api.consent("books");
      const planner = await take(session, root, hop.planner, "planner");
      const clerk = await take(session, planner.token, hop.clerk, "planner");
      return { session, clerk: clerk.token };
    },
    renew: (token: string, more: object = {}) =>
      api.call("POST", "/v1/token/renew", { bearer: token, body: { count: 1, ...more } }),
    mint: (token: string, action_id: string, more: object = {}) =>
      api.call("POST", "/v1/token/transaction", { bearer: token, body: { action_id, params: { amount: 1 }, ...more } }),
    /** Expects the refusal of a proof at any hop endpoint, counted under its cause. */
    async expectFailure(
      cause: string,
      call: () => Promise<Pick<Answer, "status" | "body">> | undefined,
    ): Promise<void> {
      const before = await failures(cause);
      const { status, body } = (await call()) ?? {};
      expect([status, body?.error.code ?? body?.error]).toEqual([400, "invalid_request"]);
      expect(await failures(cause)).toBe(before + 1);
    },
  };
}

import { aTool } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PeopleStack, startPeopleStack } from "../src/people-stack.ts";

/** Sessions beside each other serve one agent: untrusted data of one is known in all. */
let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  const untrusted = { result_taint: "untrusted_external" } as const;
  await stack.register("planner", {
    expenses: {
      hop_budget: 3,
      tools: [
        aTool("http:web/read", { ...untrusted, accepts_taint: true }),
        aTool("http:ledger/pay", { accepts_taint: false }),
      ],
    },
    payments: {
      hop_budget: 3,
      tools: [
        aTool("http:mail/read", { ...untrusted, accepts_taint: true }),
        aTool("http:bank/send", { accepts_taint: false }),
      ],
    },
  });
});
afterAll(() => stack.stop());

const toAgent = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
const to = (target: string) => ({ target, target_kind: "tool", data_class: "finance.entries" }) as const;

interface Held {
  readonly session: string;
  readonly token: string;
}

async function first(): Promise<Held> {
  const { session, token: root } = await stack.api.consent("expenses");
  return { session, token: (await stack.api.hop(session, root, toAgent)).token };
}

/** The person consents to the other scope, and hop 1 is taken there. */
async function beside({ session, token }: Held): Promise<Held> {
  const { body } = await stack.api.authorize(session, token, to("http:bank/send"));
  const ada = stack.browser("ada");
  await ada.submit(await ada.visit(body.consent_url), { answer: "allow" });
  const [second] = (await stack.beside(token)).body.data;
  const taken = await stack.api.hop(second.session_id, second.root_grant, toAgent);
  return { session: second.session_id, token: taken.token };
}

const decided = async ({ session, token }: Held, target: string, api = stack.api, more = {}) =>
  (await api.authorize(session, token, to(target), more)).body;

const blocked = { decision: "deny", deny_reason: "TAINT_BLOCKED" };

test("what is read after the consent counts in the session beside, in every process at once", async () => {
  const one = await first();
  const other = await beside(one);
  for (const api of [stack.api, stack.otherApi]) {
    expect(await decided(other, "http:bank/send", api)).toMatchObject({ decision: "allow" });
  }
  expect(await decided(one, "http:web/read")).toMatchObject({ decision: "allow" });
  for (const api of [stack.otherApi, stack.api]) {
    expect(await decided(other, "http:bank/send", api)).toMatchObject({ ...blocked, taint_source: "http:web/read" });
  }
});

test("what was read before the consent counts in the session that it begins", async () => {
  const one = await first();
  await decided(one, "http:web/read");
  expect(await decided(await beside(one), "http:bank/send")).toMatchObject(blocked);
});

test("what is read in the session beside counts in the first one, and in a third", async () => {
  const one = await first();
  const [second, third] = [await beside(one), await beside(one)];
  await decided(second, "http:mail/read");
  for (const [held, target] of [
    [one, "http:ledger/pay"],
    [third, "http:bank/send"],
  ] as const) {
    expect(await decided(held, target)).toMatchObject({ ...blocked, taint_source: "http:mail/read" });
  }
});

test("observed marks count beside for observed decisions alone", async () => {
  const one = await first();
  const other = await beside(one);
  const observed = { enforced: false };
  await decided(one, "http:web/read", stack.api, observed);
  await decided(one, "http:ledger/pay", stack.api, observed);
  const enforced = await decided(one, "http:ledger/pay");
  expect(await decided(other, "http:bank/send")).toMatchObject({ decision: enforced.decision });
});

test("many marks of one family at once: each is known everywhere, and no request is a server error", async () => {
  const one = await first();
  const [second, third] = [await beside(one), await beside(one)];
  const reads = [one, second, third].flatMap((held) =>
    [stack.api, stack.otherApi].map((api) =>
      api.authorize(held.session, held.token, to(held === one ? "http:web/read" : "http:mail/read")),
    ),
  );
  for (const { status } of await Promise.all(reads)) expect([200, 503]).toContain(status);
  for (const [held, target] of [
    [one, "http:ledger/pay"],
    [second, "http:bank/send"],
    [third, "http:bank/send"],
  ] as const) {
    expect(await decided(held, target)).toMatchObject(blocked);
  }
});

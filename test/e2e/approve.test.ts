import { deniedCall, type PeopleStack, startPeopleStack } from "@svc/test-conformance/people-stack";
import { aTool, type Child, requires, spawnApp, startEchoUpstream, testBearers, waitUntil } from "@svc/test-support";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect } from "vitest";

/** How a person learns that an agent without a screen asks. */
const { test } = requires("redis-server");

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
let stack: PeopleStack;
let hook: Awaited<ReturnType<typeof startEchoUpstream>>;
/** Answers of the webhook's receiver before it accepts. */
let refusals = 0;
beforeAll(async () => {
  hook = await startEchoUpstream((_request, response) => {
    response.statusCode = refusals > 0 ? 503 : 204;
    refusals = Math.max(0, refusals - 1);
    response.end();
  });
  stack = await startPeopleStack({ SVC_CONSENT_WEBHOOK: `${hook.url}/hook`, SVC_CONSENT_WEBHOOK_SECRET: secret });
  await stack.register("planner", {
    expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] },
    payments: { hop_budget: 2, tools: [aTool("http:bank/send", { data_classes: ["payments"] })] },
  });
});
afterAll(async () => {
  await stack?.stop();
  await hook?.stop();
});

const denied = () => deniedCall(stack, { target: "http:bank/send", target_kind: "tool", data_class: "payments" });

const svc = (...args: string[]): Child =>
  spawnApp({
    main: "@svc/cli/main",
    args,
    env: {
      SVC_CONTROL_PLANE_URL: stack.issuer,
      SVC_ADMIN_TOKEN: testBearers.admin,
      SVC_AUDIT_TOKEN: testBearers.audit,
    },
  });

async function ended(child: Child) {
  const code = await child.exited;
  return { code, stdout: child.stdout(), output: child.output() };
}

const answer = async (url: string, choice: "allow" | "refuse") => {
  const ada = stack.browser("ada");
  return ada.submit(await ada.visit(url), { answer: choice });
};

test("svc approve prints the person's link, waits, and ends with the answer", async () => {
  const { decision } = await denied();
  const listed = await ended(svc("approve"));
  expect(listed.stdout).toContain("http:bank/send");
  for (const [choice, code, text] of [
    ["refuse", 1, "the person refused"],
    ["allow", 0, "allowed"],
  ] as const) {
    const { decision: waiting } = choice === "refuse" ? { decision } : await denied();
    const child = svc("approve", waiting.action_id, "--wait", "5m");
    await waitUntil("the link", () => child.hasExited() || child.stdout().includes("/consent?ask="));
    expect(child.stdout()).toContain("ada is asked whether planner may call http:bank/send");
    await answer(/http:\S+\/consent\?ask=\S+/.exec(child.stdout())?.[0] ?? "", choice);
    const { code: exit, output } = await ended(child);
    expect({ exit, output }).toMatchObject({ exit: code, output: expect.stringContaining(text) });
  }
});

test("svc approve of a call that no person can admit says why, and what to do", async () => {
  const { session, token } = await stack.api.consent("expenses");
  const hop = { target: "http:nowhere/x", target_kind: "tool", data_class: "finance" } as const;
  const { body } = await stack.api.authorize(session, token, hop);
  const { code, output } = await ended(svc("approve", body.action_id));
  expect(code).toBe(1);
  expect(output).toContain("no person can admit this call");
  expect(output).toContain(`svc explain ${body.action_id}`);
});

test("the webhook gets each question once, signed as Standard Webhooks says, also by a receiver that fails at first", async () => {
  refusals = 1;
  const { session, token, decision } = await denied();
  await stack.api.authorize(session, token, { target: "http:bank/send", target_kind: "tool", data_class: "payments" });
  const ofThis = () => hook.requests.filter(({ body }) => body.includes(session));
  await waitUntil("two tries", () => ofThis().length >= 2);
  const all = ofThis().map(({ rawHeaders, body }) => ({ headers: headersOf(rawHeaders), body: body.toString() }));
  for (const { headers, body } of all) {
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({
      type: "consent.requested",
      data: {
        consent_url: decision.consent_url,
        user_sub: "ada",
        agent: "planner",
        target: "http:bank/send",
        scope: "payments",
        session_id: session,
        action_id: decision.action_id,
      },
    });
    const other = new Webhook(`whsec_${Buffer.alloc(32, 8).toString("base64")}`);
    expect(() => other.verify(body, headers)).toThrow();
  }
  expect(new Set(all.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
});

const headersOf = (raw: readonly string[]): Record<string, string> =>
  Object.fromEntries(Array.from({ length: raw.length / 2 }, (_, n) => [raw[2 * n]?.toLowerCase(), raw[2 * n + 1]]));

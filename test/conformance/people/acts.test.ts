import { aTool, testBearers } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enrolling, newKey } from "../src/enrollment.ts";
import { type PeopleStack, startPeopleStack } from "../src/people-stack.ts";
import type { PersonBrowser, Shown } from "../src/person.ts";

let stack: PeopleStack;
let ada: PersonBrowser;
let adaElsewhere: PersonBrowser;
let auditor: PersonBrowser;
let roleless: PersonBrowser;
let bearer: PersonBrowser;
beforeAll(async () => {
  stack = await startPeopleStack({ SVC_CONSOLE_ROLES: "platform=admin,support=audit" });
  type Four = [PersonBrowser, PersonBrowser, PersonBrowser, PersonBrowser];
  const people = ["ada", "ada", "ben", "cyd"] as const;
  [ada, adaElsewhere, auditor, roleless] = (await Promise.all(
    people.map((name) => signedIn(stack.browser(name))),
  )) as Four;
  bearer = await withBearersCookie();
});
afterAll(() => stack.stop());

const admin = (method: string, path: string, body?: unknown) =>
  stack.api.call(method, path, { bearer: testBearers.admin, ...(body !== undefined && { body }) });

async function signedIn(browser: PersonBrowser): Promise<PersonBrowser> {
  await browser.visit("/sign-in?next=/console");
  return browser;
}

interface Query {
  readonly act: string;
  readonly kind?: string;
  readonly ref: string;
}

const from = "/console/denials?limit=7";
const ask = (query: Query, browser = ada): Promise<Shown> =>
  browser.visit(`/console/act?${new URLSearchParams({ ...query, from })}`);

/** What an act concerns: an agent with a running session of a person of its own. */
async function subject() {
  const name = `a${crypto.randomUUID().slice(0, 8)}`;
  await stack.register(name, { [name]: { hop_budget: 3, tools: [aTool(`http:${name}/read`)] } });
  const { session, token: root } = await stack.api.consent(name, { user_sub: `person of ${name}` });
  const hop = { target: name, target_kind: "agent", data_class: "finance.entries" } as const;
  const { token } = await stack.api.hop(session, root, hop);
  const call = { target: `http:${name}/read`, target_kind: "tool", data_class: "finance.entries" } as const;
  return {
    name,
    session,
    person: `person of ${name}`,
    tool: call.target,
    /** Of the agent's next call: the deny reason, or that it is allowed. */
    async decided(): Promise<string> {
      const { body } = await stack.api.authorize(session, token, call);
      return body.deny_reason ?? body.decision;
    },
  };
}
type Subject = Awaited<ReturnType<typeof subject>>;

interface Case {
  readonly query: (of: Subject) => Query;
  readonly prepare?: (of: Subject) => Promise<unknown>;
  /** What undoes it, or does it before the person clicks. */
  readonly meanwhile: (of: Subject) => Promise<unknown>;
  readonly decided: readonly [before: string, after: string];
  readonly event: string;
  readonly says: string;
}

const block = (kind: string, ref: string, method = "PUT") =>
  admin(
    method,
    `/v1/blocks/${kind}/${encodeURIComponent(ref)}`,
    method === "PUT" ? { reason: "meanwhile" } : undefined,
  );

const setBlock = (kind: "tool" | "agent" | "scope", refOf: (of: Subject) => string): Case => ({
  query: (of) => ({ act: "set_block", kind, ref: refOf(of) }),
  meanwhile: (of) => block(kind, refOf(of)),
  decided: ["allow", "TARGET_BLOCKED"],
  event: "block_set",
  says: "is blocked.",
});

const idOf = async ({ name }: Subject): Promise<string> =>
  (await admin("GET", `/v1/agents/resolve?name=${name}`)).body.agent_id;

const cases: readonly (readonly [name: string, Case])[] = [
  ["blocks a tool", setBlock("tool", ({ tool }) => tool)],
  ["blocks an agent", setBlock("agent", ({ name }) => name)],
  ["blocks a scope", setBlock("scope", ({ name }) => name)],
  [
    "lifts a block",
    {
      query: ({ tool: ref }) => ({ act: "lift_block", kind: "tool", ref }),
      prepare: ({ tool }) => block("tool", tool),
      meanwhile: ({ tool }) => block("tool", tool, "DELETE"),
      decided: ["TARGET_BLOCKED", "allow"],
      event: "block_lifted",
      says: "is lifted.",
    },
  ],
  [
    "ends a session",
    {
      query: ({ session: ref }) => ({ act: "end_session", ref }),
      meanwhile: ({ session }) => admin("POST", `/v1/sessions/${session}/revoke`),
      decided: ["allow", "SESSION_REVOKED"],
      event: "session_revoked",
      says: "1 session ended.",
    },
  ],
  [
    "ends all sessions of a person",
    {
      query: ({ person: ref }) => ({ act: "end_sessions", ref }),
      meanwhile: ({ person }) => admin("POST", "/v1/sessions/revoke", { user_sub: person }),
      decided: ["allow", "SESSION_REVOKED"],
      event: "session_revoked",
      says: "1 session of",
    },
  ],
  [
    "revokes an agent",
    {
      query: ({ name: ref }) => ({ act: "revoke_agent", ref }),
      meanwhile: async (of) => admin("POST", `/v1/agents/${await idOf(of)}/revoke`),
      decided: ["allow", "AGENT_REVOKED"],
      event: "agent_revoked",
      says: "is revoked.",
    },
  ],
  [
    "lifts a quarantine",
    {
      query: ({ name: ref }) => ({ act: "lift_quarantine", ref }),
      prepare: async ({ name }) => enrolling(stack.api).enroll(name, { key: await newKey() }),
      meanwhile: async (of) => admin("POST", `/v1/agents/${await idOf(of)}/lift-quarantine`),
      decided: ["AGENT_QUARANTINED", "allow"],
      event: "quarantine_lifted",
      says: "is lifted.",
    },
  ],
];

interface Event {
  readonly actor: string;
  readonly reason: string | null;
  readonly details: Record<string, unknown>;
}

/** Events of the kind by ada with this reason. */
const eventsOf = async (kind: string, reason: string): Promise<readonly Event[]> =>
  ((await stack.events(kind)) as unknown as Event[]).filter((event) => event.reason === reason);

async function withBearersCookie(): Promise<PersonBrowser> {
  const browser = stack.browser("stranger");
  const entered = await fetch(`${stack.issuer}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token: testBearers.admin, next: "/console" }),
  });
  const [name = "", value = ""] = (entered.headers.get("set-cookie")?.split(";")[0] ?? "").split(/=(.*)/s);
  browser.cookies.set(name, value);
  return browser;
}

const refusals: readonly (readonly [who: string, status: number, send: (page: Shown) => Promise<Shown>])[] = [
  ["an auditor", 403, (page) => auditor.submit(page, { reason })],
  ["a person without a role", 403, (page) => roleless.submit(page, { reason })],
  ["the cookie of an administrator's bearer", 403, (page) => bearer.submit(page, { reason })],
  ["a visitor who is signed out", 401, (page) => stack.browser("dan").submit(page, { reason })],
  ["a form without its token", 403, (page) => ada.submit(page, { reason, form: "" })],
  ["another sign-in's form", 403, (page) => adaElsewhere.submit(page, { reason })],
  ["another sign-in's question in a form of one's own", 410, (page) => asOwnForm(page, adaElsewhere)],
  ["a form whose question was altered", 410, (page) => ada.submit(page, { reason, question: "x.y.z" })],
  ["a page of another origin", 400, (page) => ada.submit(page, { reason }, foreign)],
  ["no reason", 400, (page) => ada.submit(page, { reason: " \r\n" })],
  ["a reason that is too long", 400, (page) => ada.submit(page, { reason: "r".repeat(1_001) })],
  ["GET with the form's fields", 400, (page) => ada.visit(`/console/act?${fieldsOf(page)}&reason=${reason}`)],
];
const reason = "incident";

async function asOwnForm(page: Shown, browser: PersonBrowser): Promise<Shown> {
  const own = await ask({ act: "set_block", kind: "scope", ref: "another" }, browser);
  return browser.submit(page, { reason, form: fieldsOf(own).get("form") ?? "" });
}
const foreign = { origin: "https://evil.test", "sec-fetch-site": "cross-site" };

const fieldsOf = ({ text }: Shown): URLSearchParams =>
  new URLSearchParams(
    [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
      ([, name = "", value = ""]): [string, string] => [name, value],
    ),
  );

describe.each(cases)(
  "an administrator who signed in %s",
  (_name, { query, prepare, meanwhile, decided, event, says }) => {
    let of: Subject;
    let page: Shown;
    beforeAll(async () => {
      of = await subject();
      await prepare?.(of);
      page = await ask(query(of));
    });

    test.each(refusals)("%s is refused with %i, and nothing changes", async (_who, status, send) => {
      expect(page.status).toBe(200);
      expect((await send(page)).status).toBe(status);
      expect(await of.decided()).toBe(decided[0]);
    });

    test("once, from the next decision on, with person, reason and page in the record, and says so on the page", async () => {
      const typed = `because of ${of.name}\r\nand more`;
      const [after, doubled] = await Promise.all([
        ada.submit(page, { reason: typed }),
        ada.submit(page, { reason: typed }),
      ]);
      expect([after.status, doubled.status].toSorted()).toEqual([200, 409]);
      const shown = after.status === 200 ? after : doubled;
      expect(shown.url.pathname).toBe("/console/denials");
      expect(shown.url.searchParams.get("limit")).toBe("7");
      expect(shown.text).toContain(says);
      expect(await of.decided()).toBe(decided[1]);
      expect((await ada.submit(page, { reason: typed })).status).toBe(409);
      const [signIn] = (await stack.events("signed_in")) as unknown as Event[];
      expect(signIn?.details).toHaveProperty("sign_in_id");
      expect(await eventsOf(event, typed.replaceAll("\r\n", "\n"))).toEqual([
        expect.objectContaining({
          actor: "ada",
          details: expect.objectContaining({
            sign_in_id: await signInOf(page),
            issuer: stack.provider.issuer,
            page: "/console/denials",
          }),
        }),
      ]);
    });

    test("not blindly: what another administrator did meanwhile is shown anew", async () => {
      const other = await subject();
      await prepare?.(other);
      const stale = await ask(query(other));
      await meanwhile(other);
      const shown = await ada.submit(stale, { reason: `stale ${other.name}` });
      expect(shown.status).toBe(409);
      expect(shown.text).toContain("This changed since the page was shown");
      expect(shown.text).toContain("It would change nothing.");
      expect(await eventsOf(event, `stale ${other.name}`)).toEqual([]);
    });
  },
);

/** The sign-in that a page was shown to: the sealed question names it. */
async function signInOf(page: Shown): Promise<string> {
  const [, payload = ""] = (fieldsOf(page).get("question") ?? "").split(".");
  return JSON.parse(Buffer.from(payload, "base64url").toString()).content.signInId;
}

test("a new manifest between page and click is shown anew, and the agent stays", async () => {
  const of = await subject();
  const page = await ask({ act: "revoke_agent", ref: of.name });
  const manifest = { scopes: { [of.name]: { hop_budget: 3, tools: [aTool(of.tool), aTool(`http:${of.name}/more`)] } } };
  const { status } = await admin("POST", "/v1/manifests", { agent: of.name, manifest, override: { reason: "a test" } });
  expect(status).toBe(201);
  const shown = await ada.submit(page, { reason: "stale" });
  expect([shown.status, await of.decided()]).toEqual([409, "allow"]);
  expect(shown.text).toContain("version 2");
  expect((await ada.submit(shown, { reason: "seen" })).status).toBe(200);
  expect(await of.decided()).toBe("AGENT_REVOKED");
});

test("a form that was sent does nothing a second time, also where the block was lifted since", async () => {
  const of = await subject();
  const page = await ask({ act: "set_block", kind: "tool", ref: of.tool });
  await ada.submit(page, { reason: "once" });
  await block("tool", of.tool, "DELETE");
  const shown = await ada.submit(page, { reason: "once" });
  expect([shown.status, await of.decided()]).toEqual([409, "allow"]);
  expect(shown.text).toContain("This form was sent before");
});

test("a sign-in that ended a moment ago acts no more, in either process", async () => {
  const of = await subject();
  const browser = await signedIn(stack.browser("ada"));
  const page = await ask({ act: "end_session", ref: of.session }, browser);
  await admin("POST", `/v1/sign-ins/${await signInOf(page)}/end`);
  for (const at of [stack.issuer, stack.otherApi.url]) {
    expect((await browser.submit(page, { reason: "late" }, {}, at)).status).toBe(401);
  }
  expect(await of.decided()).toBe("allow");
});

test("another process takes the form", async () => {
  const of = await subject();
  const page = await ask({ act: "end_session", ref: of.session });
  await ada.submit(page, { reason: "there" }, {}, stack.otherApi.url);
  expect(await of.decided()).toBe("SESSION_REVOKED");
});

describe("pages offer", () => {
  const pagesOf = ({ session, name }: Subject, action: string) => [
    `/console/actions/${action}`,
    `/console/sessions/${session}`,
    `/console/agents/${name}`,
    "/console/denials",
  ];

  test("acts to administrators, and none to auditors and to tokens", async () => {
    const of = await subject();
    await of.decided();
    await block("scope", `${of.name} other`);
    const { body } = await stack.api.decisions(`session_id=${of.session}`);
    const action = body.data[0].action_id as string;
    const others = [auditor, bearer];
    for (const path of pagesOf(of, action)) {
      expect((await ada.visit(path)).text).toContain('href="/console/act?');
      expect((await ada.visit(path)).text).not.toContain("Read-only");
      for (const other of others) {
        const { status, text } = await other.visit(path);
        expect(status).toBe(200);
        expect(text).not.toContain("/console/act?");
        expect(text).toContain("Read-only");
      }
    }
    for (const other of others) expect((await ask({ act: "end_session", ref: of.session }, other)).status).toBe(403);
  });

  test("a confirmation that says how many running sessions and calls it concerns, without a script", async () => {
    const of = await subject();
    await of.decided();
    const agent = await ask({ act: "revoke_agent", ref: of.name });
    expect(agent.text).toContain("1 running session with a delegation to it");
    expect(agent.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await ask({ act: "set_block", kind: "tool", ref: of.tool })).text).toContain("1 call in the last hour");
    expect((await ask({ act: "set_block", kind: "scope", ref: of.name })).text).toContain("1 running session<");
  });

  test.each([
    ["an agent that is not registered", { act: "revoke_agent", ref: "nothing" }, 404],
    ["a session that is none", { act: "end_session", ref: "01990000-0000-7000-8000-000000000000" }, 404],
    ["an unknown act", { act: "shout", ref: "planner" }, 400],
    ["a block of an unknown kind", { act: "set_block", kind: "moon", ref: "planner" }, 400],
    ["a ref that its kind cannot have", { act: "set_block", kind: "tool", ref: "not a tool" }, 400],
  ])("no form for %s", async (_name, query, status) => {
    const page = await ask(query);
    expect(page.status).toBe(status);
    expect(page.text).not.toContain("<textarea");
  });

  test("a way back within the console alone", async () => {
    const { session } = await subject();
    const page = await ada.visit(
      `/console/act?act=end_session&ref=${session}&from=${encodeURIComponent("https://evil.test/")}`,
    );
    expect(page.text).not.toContain("evil.test");
    expect((await ada.submit(page, { reason: "r" })).url.pathname).toBe("/console");
  });

  test("a result to the sign-in that acted alone", async () => {
    const { session } = await subject();
    const done = await ada.submit(await ask({ act: "end_session", ref: session }), { reason: "r" });
    expect(done.text).toContain("1 session ended.");
    expect((await adaElsewhere.visit(done.url)).text).not.toContain("1 session ended.");
    expect((await ada.visit("/console/denials?done=forged")).status).toBe(200);
  });
});

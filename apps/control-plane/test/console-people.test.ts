import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { browser, startSignIn } from "./sign-in-support.ts";
import { tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
let visitor: ReturnType<typeof browser>;
beforeAll(async () => {
  plane = await startSignIn({ SVC_CONSOLE_ROLES: "platform=audit,owners=admin" });
});
afterAll(() => plane.stop());
beforeEach(() => {
  visitor = browser(plane.deps);
});

const pageText = async (path: string): Promise<string> => (await visitor.send(path)).text();
const eventsOf = async (kind: string, actor: string) => {
  const { json } = await plane.send(`/v1/audit/events?kind=${kind}&limit=200`);
  const events = json.data as unknown as { actor: string; details: Record<string, unknown> }[];
  return events.filter((event) => event.actor === actor).map(({ details }) => details);
};

describe("a person with a role", () => {
  test("opens the console by signing in at the provider, and returns to the page", async () => {
    const away = await visitor.send("/console/agents?limit=3");
    const offer = await visitor.send(away.headers.get("location") ?? "");
    const text = await offer.text();
    expect(text).toContain(`Sign in with <bdi>${new URL(plane.provider.issuer).host}</bdi>`);
    const [, next = ""] = /href="\/sign-in\?next=([^"]*)"/.exec(text) ?? [];
    const entered = await visitor.signIn(plane.provider, "ada", decodeURIComponent(next));
    expect(entered.headers.get("location")).toBe("/console/agents?limit=3");
    const page = await visitor.send("/console/agents?limit=3");
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("<bdi>Ada Lovelace</bdi>");
  });

  test("signs out: the cookie opens nothing more, although the browser still has it", async () => {
    await visitor.signIn(plane.provider, "ada");
    const kept = new Map(visitor.cookies);
    const left = await visitor.send("/console/sign-out", {
      method: "POST",
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect([left.status, left.headers.get("location")]).toEqual([303, "/sign-out"]);
    for (const [name, value] of kept) visitor.cookies.set(name, value);
    expect((await visitor.send("/console")).status).toBe(303);
  });

  test("leaves on record which pages were seen, without the values of their queries", async () => {
    await visitor.signIn(plane.provider, "ada");
    const before = (await eventsOf("console_viewed", "ada")).length;
    await visitor.send("/console/decisions?outcome=deny&agent=planner");
    await visitor.send("/console/decisions?agent=clerk&outcome=allow");
    await visitor.send("/console/agents/planner");
    await visitor.send("/console/assets/base.css");
    const seen = await eventsOf("console_viewed", "ada");
    const [signIn] = await eventsOf("signed_in", "ada");
    const common = { sign_in_id: signIn?.sign_in_id, issuer: plane.provider.issuer };
    expect(seen.slice(0, seen.length - before)).toEqual([
      { ...common, path: "/console/agents/planner", parameters: "" },
      { ...common, path: "/console/decisions", parameters: "agent,outcome" },
    ]);
    // Without its filters the address is of another page.
    const text = await (await visitor.send("/console/events?kind=console_viewed")).text();
    expect(text).toContain('<a href="/console/agents/planner"><code>/console/agents/planner</code></a>');
    expect(text).toContain('href="/console/person?sub=ada"');
    expect(text).toContain("<code>/console/decisions</code>");
    expect(text).not.toContain("<code>/console/decisions</code></a>");
  });

  test("leaves on record which files were exported, in each format", async () => {
    await visitor.signIn(plane.provider, "ada");
    const before = (await eventsOf("console_viewed", "ada")).length;
    for (const extension of ["csv", "jsonl"]) {
      const file = await visitor.send(`/console/decisions.${extension}?agent=planner`);
      expect([file.status, file.headers.get("content-disposition")]).toEqual([
        200,
        expect.stringContaining("attachment"),
      ]);
    }
    const seen = await eventsOf("console_viewed", "ada");
    const [signIn] = await eventsOf("signed_in", "ada");
    const common = { sign_in_id: signIn?.sign_in_id, issuer: plane.provider.issuer, parameters: "agent" };
    expect(seen.slice(0, seen.length - before)).toEqual([
      { ...common, path: "/console/decisions.jsonl" },
      { ...common, path: "/console/decisions.csv" },
    ]);
  });

  test("sees no page whose view could not be recorded", async () => {
    await visitor.signIn(plane.provider, "ada");
    const unavailable = Object.assign(new Error("down"), { code: "database_unavailable" });
    const failing = { ...plane.deps.signIns, recordView: () => Promise.reject(unavailable) };
    const other = browser({ ...plane.deps, signIns: failing });
    for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
    expect((await other.send("/console/agents")).status).toBe(503);
  });

  test("has it as the settings are now, not as they were at the sign-in", async () => {
    await visitor.signIn(plane.provider, "ada");
    const { people } = plane.deps;
    const changed = browser({ ...plane.deps, people: people && { ...people, rolesOf: () => [] } });
    for (const [name, value] of visitor.cookies) changed.cookies.set(name, value);
    expect((await changed.send("/console")).status).toBe(403);
  });
});

test("a person without a role sees which setting would give one, and no data", async () => {
  await visitor.signIn(plane.provider, "ben");
  const page = await visitor.send("/console/decisions");
  expect(page.status).toBe(403);
  const text = await page.text();
  expect(text).toContain("Ben Bitdiddle");
  expect(text).toContain("SVC_CONSOLE_ROLES");
  expect(text).not.toContain("<table");
  expect(await eventsOf("console_viewed", "ben")).toEqual([]);
});

test("a token still opens the console, also beside a sign-in without a role", async () => {
  await visitor.signIn(plane.provider, "ben");
  const entered = await visitor.send("/console/sign-in", {
    method: "POST",
    body: new URLSearchParams({ token: tokens.audit, next: "/console" }),
    headers: { "sec-fetch-site": "same-origin" },
  });
  expect(entered.status).toBe(303);
  expect(await pageText("/console")).toContain("<bdi>audit</bdi>");
});

test("a person's cookie is no bearer, and a person's role opens no route of the API", async () => {
  await visitor.signIn(plane.provider, "ada");
  expect((await visitor.send("/v1/audit/events")).status).toBe(401);
  const [value = ""] = visitor.cookies.values();
  expect((await visitor.send("/v1/audit/events", { headers: { authorization: `Bearer ${value}` } })).status).toBe(401);
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBearers, holdersOf } from "../src/http/bearers.ts";
import { visitor } from "./console-support.ts";
import { startPlane, tokens } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.stop());

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 1);
const at = (ms: number) => ({ ...plane.deps, clock: { nowMs: () => ms } });

describe("signing in", () => {
  test.each(["audit", "admin"] as const)("the %s token opens the console", async (kind) => {
    const { signIn, look } = visitor(plane.deps);
    const entered = await signIn(tokens[kind], "/console/agents?status=rejected");
    expect(entered.status).toBe(303);
    expect(entered.headers.get("location")).toBe("/console/agents?status=rejected");
    expect((await look("/console", tokens[kind])).status).toBe(200);
  });

  test.each([
    ["another plane's token", tokens.identity],
    ["an unknown token", "x".repeat(40)],
    ["nothing", ""],
    ["a token with its scheme", `Bearer ${tokens.audit}`],
  ])("%s is refused, with what to do next", async (_name, token) => {
    const refused = await visitor(plane.deps).signIn(token);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("set-cookie")).toBeNull();
    expect(refused.headers.get("www-authenticate")).toBeNull();
    expect(refused.text).toContain("SVC_AUDIT_TOKEN");
    if (token !== "") expect(refused.text).not.toContain(token);
  });

  test("a refused token is not told back, whatever it holds", async () => {
    const refused = await visitor(plane.deps).signIn('"><script>alert(1)</script>');
    expect(refused.text).not.toContain("alert(1)");
  });

  test.each([
    "https://evil.test/",
    "//evil.test",
    "/v1/agents",
    "/console\\@evil.test",
    "/consoles",
    "/console/sign-in",
  ])("nobody is sent on to %s", async (next) => {
    const entered = await visitor(plane.deps).signIn(tokens.audit, next);
    expect(entered.headers.get("location")).toBe("/console");
  });

  test("a form that another site sent is refused, whichever header says so", async () => {
    const { post } = visitor(plane.deps);
    const form = { token: tokens.audit, next: "/console" };
    for (const headers of [
      { "sec-fetch-site": "cross-site", origin: "https://evil.test" },
      { "sec-fetch-site": "same-site", origin: "https://other.plane.test" },
      { "sec-fetch-site": "", origin: "null" },
    ]) {
      for (const path of ["/console/sign-in", "/console/sign-out"]) {
        const refused = await post(path, form, { host: "plane.test", ...headers });
        expect(refused.status).toBe(400);
        expect(refused.headers.get("set-cookie")).toBeNull();
      }
    }
  });

  test("a browser that says only where the form came from is believed, also behind a proxy that ends TLS", async () => {
    const headers = { "sec-fetch-site": "", origin: "https://plane.test", host: "plane.test" };
    const entered = await visitor(plane.deps).post("/console/sign-in", { token: tokens.audit, next: "" }, headers);
    expect(entered.status).toBe(303);
  });
});

describe("the cookie", () => {
  test("is for this host, this browser's own navigations and an hour alone, and holds nothing of the token", async () => {
    const secure = { ...plane.deps, console: { ...plane.deps.console, isSecure: true } };
    const set = (await visitor(secure).signIn(tokens.audit)).headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^__Host-svc-console=\d+\.[\w-]{43}; /);
    expect(set.split("; ").slice(1).toSorted()).toEqual(
      ["HttpOnly", "Max-Age=3600", "Path=/", "SameSite=Strict", "Secure"].toSorted(),
    );
    expect(set).not.toContain(tokens.audit);
    expect(set).not.toContain(Buffer.from(tokens.audit).toString("base64url"));
  });

  test("is taken by every process that has the same settings, and by none with another key", async () => {
    const cookie = await visitor(plane.deps).cookieOf();
    const other = { ...plane.deps, console: { ...plane.deps.console, key: new Uint8Array(32) } };
    expect((await visitor({ ...plane.deps }).ask("/console", { headers: { cookie } })).status).toBe(200);
    expect((await visitor(other).ask("/console", { headers: { cookie } })).status).toBe(303);
  });

  test("is over after its hour, to the second", async () => {
    const cookie = await visitor(at(startMs)).cookieOf();
    const statusAt = async (ms: number) =>
      (await visitor(at(ms)).ask("/console/agents", { headers: { cookie } })).status;
    expect(await statusAt(startMs + hourMs - 1000)).toBe(200);
    expect(await statusAt(startMs + hourMs)).toBe(303);
  });

  test("is over once its token is taken from the settings", async () => {
    const cookie = await visitor(plane.deps).cookieOf();
    const rotated = { admin: [], audit: [{ label: "audit", token: "y".repeat(40) }], identity: [] };
    const { console: settings } = plane.deps;
    const after = {
      ...plane.deps,
      bearers: createBearers(rotated),
      console: { ...settings, holders: holdersOf(rotated, "audit") },
    };
    expect((await visitor(after).ask("/console", { headers: { cookie } })).status).toBe(303);
  });

  test("cannot be made to last longer, nor be another's", async () => {
    const cookie = await visitor(plane.deps).cookieOf();
    const [name, value = ""] = cookie.split("=");
    const [end, mac = ""] = value.split(".");
    for (const forged of [`${Number(end) + 1}.${mac}`, `${end}.${mac.slice(0, -1)}A`, `${end}.`, mac, `0${value}`]) {
      if (forged === value) continue;
      const seen = await visitor(plane.deps).ask("/console", { headers: { cookie: `${name}=${forged}` } });
      expect(seen.status).toBe(303);
    }
  });

  test("is no bearer, and a bearer is no cookie", async () => {
    const { ask, cookieOf } = visitor(plane.deps);
    const cookie = await cookieOf();
    const value = cookie.split("=")[1] ?? "";
    expect((await ask("/v1/audit/decisions", { headers: { cookie } })).status).toBe(401);
    expect((await ask("/v1/audit/decisions", { headers: { authorization: `Bearer ${value}` } })).status).toBe(401);
    expect((await ask("/console", { headers: { authorization: `Bearer ${tokens.audit}` } })).status).toBe(303);
    expect((await ask("/console", { headers: { cookie: `svc-console=${tokens.audit}` } })).status).toBe(303);
  });

  test("is taken away by signing out", async () => {
    const { post } = visitor(plane.deps);
    const left = await post("/console/sign-out", {});
    expect(left.status).toBe(303);
    expect(left.headers.get("location")).toBe("/console/sign-in");
    expect(left.headers.get("set-cookie")).toMatch(/^svc-console=; Max-Age=0; Path=\//);
  });
});

test("without a sign-in every page leads to it, and back to where it was asked for", async () => {
  const { ask } = visitor(plane.deps);
  const away = await ask("/console/decisions?outcome=deny&agent=a%26b");
  expect(away.status).toBe(303);
  const location = away.headers.get("location") ?? "";
  expect(location).toBe("/console/sign-in?next=%2Fconsole%2Fdecisions%3Foutcome%3Ddeny%26agent%3Da%2526b");
  expect((await ask(location)).text).toContain('value="/console/decisions?outcome=deny&amp;agent=a%26b"');
});

test("a link from another site, with which no strict cookie comes, is followed once more from here", async () => {
  const { ask } = visitor(plane.deps);
  const seen = await ask("/console/decisions", { headers: { "sec-fetch-site": "cross-site" } });
  expect(seen.status).toBe(200);
  expect(seen.text).toContain('<meta http-equiv="refresh" content="0; url=/console/decisions">');
});

test("a sign-in counts against the rate of its token, as its calls of the API do", async () => {
  const waits = [0, 0, 7];
  const limits = { ...plane.deps.limits, bearer: async () => waits.shift() ?? 0 };
  const { look, cookieOf, ask } = visitor({ ...plane.deps, limits });
  const cookie = await cookieOf();
  expect((await ask("/console/agents", { headers: { cookie } })).status).toBe(200);
  const refused = await ask("/console/agents", { headers: { cookie } });
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("7");
  expect(refused.text).toContain("SVC_RATE_LIMIT_PER_BEARER");
  expect((await look("/console")).status).toBe(200);
});

test("nothing is kept, framed, sniffed or loaded from elsewhere, and nothing inline runs", async () => {
  const { look, ask } = visitor(plane.deps);
  for (const seen of [
    await look("/console"),
    await ask("/console/sign-in"),
    await ask("/console/assets/follow.js"),
    await ask("/console/nowhere"),
  ]) {
    expect(seen.headers.get("cache-control")).toBe("no-store");
    expect(seen.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = seen.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(seen.text).not.toMatch(/ (?:style|on\w+)="|(?:src|href)="(?:https?:)?\/\//);
  }
});

test("every file that a page names is there, and no other is", async () => {
  const { look, ask } = visitor(plane.deps);
  const named = [...(await look("/console")).text.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? "",
  );
  expect(named.length).toBeGreaterThan(5);
  for (const path of named) expect((await ask(path)).status).toBe(200);
  expect((await ask("/console/assets/..%2fconsole.ts")).status).toBe(404);
});

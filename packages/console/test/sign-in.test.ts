import { describe, expect, test } from "vitest";
import { fakePorts, Refused, tokens, visitor } from "./fake-ports.ts";

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 1);
const at = (ms: number) => ({ clock: { nowMs: () => ms } });
const { signIn: settings } = fakePorts();

describe("signing in", () => {
  test.each(["audit", "admin"] as const)("the %s token opens the console", async (kind) => {
    const { signIn, look } = visitor();
    const entered = await signIn(tokens[kind], "/console/agents?status=rejected");
    expect(entered.status).toBe(303);
    expect(entered.headers.get("location")).toBe("/console/agents?status=rejected");
    expect((await look("/console", tokens[kind])).status).toBe(200);
  });

  test.each([
    ["an unknown token", "x".repeat(40)],
    ["nothing", ""],
    ["a token with its scheme", `Bearer ${tokens.audit}`],
    ["markup", '"><script>alert(1)</script>'],
  ])("%s is refused with a remedy, and is not in the page", async (_name, token) => {
    const refused = await visitor().signIn(token);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("set-cookie")).toBeNull();
    expect(refused.headers.get("www-authenticate")).toBeNull();
    expect(refused.text).toContain("SVC_AUDIT_TOKEN");
    if (token !== "") expect(refused.text).not.toContain(token);
  });

  test.each([
    "https://evil.test/",
    "//evil.test",
    "/v1/agents",
    "/console\\@evil.test",
    "/consoles",
    "/console/sign-in",
  ])("never redirects to %s", async (next) => {
    const entered = await visitor().signIn(tokens.audit, next);
    expect(entered.headers.get("location")).toBe("/console");
  });

  test("a form of another site is refused, by Sec-Fetch-Site or by Origin", async () => {
    const { post } = visitor();
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

  test("a browser without Sec-Fetch-Site signs in by its Origin, behind a proxy that ends TLS too", async () => {
    const headers = { "sec-fetch-site": "", origin: "https://plane.test", host: "plane.test" };
    const entered = await visitor().post("/console/sign-in", { token: tokens.audit, next: "" }, headers);
    expect(entered.status).toBe(303);
  });
});

describe("the cookie", () => {
  test("is limited to this host, same-site navigation and one hour, and does not contain the token", async () => {
    const secure = { signIn: { ...settings, isSecure: true } };
    const set = (await visitor(secure).signIn(tokens.audit)).headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^__Host-svc-console=\d+\.[\w-]{43}; /);
    expect(set.split("; ").slice(1).toSorted()).toEqual(
      ["HttpOnly", "Max-Age=3600", "Path=/", "SameSite=Strict", "Secure"].toSorted(),
    );
    expect(set).not.toContain(tokens.audit);
    expect(set).not.toContain(Buffer.from(tokens.audit).toString("base64url"));
  });

  test("is valid in every process with the same key, and in none with another", async () => {
    const cookie = await visitor().cookieOf();
    const other = { signIn: { ...settings, key: new Uint8Array(32) } };
    expect((await visitor().request("/console", { headers: { cookie } })).status).toBe(200);
    expect((await visitor(other).request("/console", { headers: { cookie } })).status).toBe(303);
  });

  test("expires after one hour, to the second", async () => {
    const cookie = await visitor(at(startMs)).cookieOf();
    const statusAt = async (ms: number) =>
      (await visitor(at(ms)).request("/console/agents", { headers: { cookie } })).status;
    expect(await statusAt(startMs + hourMs - 1000)).toBe(200);
    expect(await statusAt(startMs + hourMs)).toBe(303);
  });

  test("expires once its token leaves the settings", async () => {
    const cookie = await visitor().cookieOf();
    const rotated = { signIn: { ...settings, holders: [{ plane: "audit", label: "audit", id: "new" } as const] } };
    expect((await visitor(rotated).request("/console", { headers: { cookie } })).status).toBe(303);
  });

  test("cannot be extended or forged", async () => {
    const { cookieOf, request } = visitor();
    const [name, value = ""] = (await cookieOf()).split("=");
    const [end, mac = ""] = value.split(".");
    for (const forged of [`${Number(end) + 1}.${mac}`, `${end}.${mac.slice(0, -1)}A`, `${end}.`, mac, `0${value}`]) {
      if (forged === value) continue;
      const seen = await request("/console", { headers: { cookie: `${name}=${forged}` } });
      expect(seen.status).toBe(303);
    }
  });

  test("is removed by signing out", async () => {
    const { post, cookieOf } = visitor();
    const cookie = await cookieOf();
    const left = await post("/console/sign-out", {}, { cookie });
    expect(left.status).toBe(303);
    expect(left.headers.get("set-cookie")).toMatch(/^svc-console=; Max-Age=0/);
  });
});

test("without a sign-in every page leads to it, and from there back", async () => {
  const { request } = visitor();
  const away = await request("/console/decisions?outcome=deny&agent=a%26b");
  expect(away.status).toBe(303);
  const location = away.headers.get("location") ?? "";
  expect(location).toBe("/console/sign-in?next=%2Fconsole%2Fdecisions%3Foutcome%3Ddeny%26agent%3Da%2526b");
  expect((await request(location)).text).toContain('value="/console/decisions?outcome=deny&amp;agent=a%26b"');
});

test("a link from another site reloads the page once, so that the strict cookie is sent", async () => {
  const seen = await visitor().request("/console/decisions", { headers: { "sec-fetch-site": "cross-site" } });
  expect(seen.status).toBe(200);
  expect(seen.text).toContain('<meta http-equiv="refresh" content="0; url=/console/decisions">');
});

test("a sign-in and each page count against the token's rate limit", async () => {
  const calls: string[] = [];
  const countCall = async ({ label }: { label: string }) => {
    calls.push(label);
    if (calls.length > 2) throw new Refused("rate_limited", 429, { "Retry-After": "7" });
  };
  const { cookieOf, request } = visitor({ countCall });
  const cookie = await cookieOf();
  expect((await request("/console/agents", { headers: { cookie } })).status).toBe(200);
  const refused = await request("/console/agents", { headers: { cookie } });
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("7");
  expect(refused.text).toContain("SVC_RATE_LIMIT_PER_BEARER");
  expect(calls).toEqual(["auditor", "auditor", "auditor"]);
});

test("no response is cached, framed or sniffed, loads foreign resources or runs inline scripts", async () => {
  const { look, request } = visitor();
  for (const seen of [
    await look("/console"),
    await request("/console/sign-in"),
    await request("/console/assets/follow.js"),
    await request("/console/nowhere"),
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

test("every file that a page names exists, and no file outside the assets is served", async () => {
  const { look, request } = visitor();
  const named = [...(await look("/console")).text.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? "",
  );
  expect(named.length).toBeGreaterThan(5);
  for (const path of named) expect((await request(path)).status).toBe(200);
  expect((await request("/console/assets/..%2fpackage.json")).status).toBe(404);
});

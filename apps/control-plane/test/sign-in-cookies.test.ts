import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { People } from "../src/people/deps.ts";
import { type Browser, browser, copyOf, opensConsole, startSignIn } from "./sign-in-support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
let person: Browser;
beforeAll(async () => {
  plane = await startSignIn();
});
afterAll(() => plane.stop());
beforeEach(() => {
  person = browser(plane.deps);
});

const means = (): People => {
  if (plane.deps.people === undefined) throw new Error("no provider is configured");
  return plane.deps.people;
};

/** A person's way to the provider, up to the callback. */
const returned = async (): Promise<URL> => plane.provider.logIn(await person.begin("/me"), "ada");
const isSignedIn = (): boolean => person.cookies.has("svc-person");

describe("the browser's cookies", () => {
  const attributesOf = (response: Response): readonly (readonly [string, readonly string[]])[] =>
    response.headers.getSetCookie().map((set) => {
      const [pair = "", ...attributes] = set.split("; ");
      return [pair.split("=")[0] ?? "", attributes.filter((text) => !text.startsWith("Max-Age")).toSorted()];
    });

  test("are for this host, by TLS, and not for scripts or other sites' requests", async () => {
    const secure = browser({ ...plane.deps, people: { ...means(), isSecure: true } });
    const begun = await secure.send("/sign-in");
    const callback = await plane.provider.logIn(new URL(begun.headers.get("location") ?? ""), "ada");
    const all = ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"];
    expect(attributesOf(begun)).toEqual([[expect.stringMatching(/^__Host-svc-attempt-[\w-]{16}$/), all]]);
    expect(attributesOf(await secure.callback(callback))).toContainEqual(["__Host-svc-person", all]);
  });

  test("hold neither nonce, verifier and page in plain text, nor anything of the person", async () => {
    const callback = await returned();
    const attempt = [...person.cookies].join();
    expect(attempt).not.toContain(Buffer.from("/me").toString("base64url"));
    await person.callback(callback);
    expect(person.cookies.get("svc-person")).toMatch(/^[\w-]{43}$/);
    expect([...person.cookies.keys()]).toEqual(["svc-person"]);
  });

  test("are stored as a hash alone", async () => {
    await person.callback(await returned());
    const cookie = person.cookies.get("svc-person") ?? "";
    const rows = await plane.stores.reader.sql`select sign_in::text as row from sign_in`;
    expect(rows.length).toBeGreaterThan(0);
    const text = JSON.stringify(rows);
    expect(text).not.toContain(cookie);
    expect(text).not.toContain(Buffer.from(cookie).toString("hex"));
    expect(text).not.toContain(Buffer.from(cookie, "base64url").toString("hex"));
  });

  test("are not adopted: a value that a stranger set opens nothing, and is replaced", async () => {
    const planted = "A".repeat(43);
    person.cookies.set("svc-person", planted);
    expect(await opensConsole(person)).toBe(false);
    await person.callback(await returned());
    expect(person.cookies.get("svc-person")).not.toBe(planted);
  });

  test.each(["", "x", "A".repeat(44), "a b", "%00", "' or true --"])("open nothing as %j", async (value) => {
    person.cookies.set("svc-person", value);
    expect(await opensConsole(person)).toBe(false);
  });

  test("do not fill up with attempts", async () => {
    for (let n = 0; n < 12; n++) await person.begin();
    expect(person.cookies.size).toBeLessThanOrEqual(4);
    const callback = await returned();
    expect((await person.callback(callback)).status).toBe(303);
  });

  test("let two tabs sign in beside each other", async () => {
    const [one, other] = [await person.begin("/me?tab=one"), await person.begin("/me?tab=other")];
    const first = await person.callback(await plane.provider.logIn(other, "ada"));
    const second = await person.callback(await plane.provider.logIn(one, "ada"));
    expect([first, second].map(({ headers }) => headers.get("location"))).toEqual(["/me?tab=other", "/me?tab=one"]);
  });
});

test("signing in again ends the browser's sign-in before", async () => {
  await person.callback(await returned());
  const before = copyOf(person, plane.deps);
  await person.callback(await returned());
  expect(await opensConsole(person)).toBe(true);
  expect(await opensConsole(before)).toBe(false);
});

test("a sign-in is over after an hour, and where the settings name another provider", async () => {
  await person.callback(await returned());
  const later = copyOf(person, { ...plane.deps, clock: { nowMs: () => Date.now() + 3_600_000 } });
  const people = { ...means(), providerIssuer: new URL("https://other.test") };
  const elsewhere = copyOf(person, { ...plane.deps, people });
  for (const visitor of [later, elsewhere]) expect(await opensConsole(visitor)).toBe(false);
  expect(await opensConsole(person)).toBe(true);
});

describe("signing out", () => {
  test.each([
    ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.test" }],
    ["a neighbour's site", { "sec-fetch-site": "same-site", origin: "https://other.plane.test" }],
    ["a page without origin", { origin: "null" }],
    ["no browser's page", {}],
  ])("by a form of %s changes nothing", async (_name, headers) => {
    await person.callback(await returned());
    const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, value]);
    const answer = await person.send("/sign-out", { method: "POST", headers: [["host", "plane.test"], ...sent] });
    expect(answer.status).toBe(400);
    expect(await opensConsole(person)).toBe(true);
  });

  test("by its own form leads to a page that says so", async () => {
    await person.callback(await returned());
    const left = await person.send("/sign-out", { method: "POST", headers: { "sec-fetch-site": "same-origin" } });
    expect([left.status, left.headers.get("location")]).toEqual([303, "/sign-out"]);
    expect(isSignedIn()).toBe(false);
    expect(await (await person.send("/sign-out")).text()).toContain("You are signed out");
  });
});

test("no response of the sign-in is framed, cached, or names its address to another page", async () => {
  const callback = await returned();
  const responses = [
    await person.send("/sign-in"),
    await person.callback(callback),
    await person.callback(callback),
    await person.send("/sign-out"),
    await person.send("/sign-in?next=a&next=b"),
    await person.send("/sign-in", { method: "PUT" }),
  ];
  expect(responses.map(({ status }) => status)).toEqual([303, 303, 400, 200, 400, 405]);
  for (const { headers } of responses) {
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get("content-security-policy")).not.toContain("script");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("without a client of a provider the pages do not exist", async () => {
  const without = browser({ ...plane.deps, people: undefined });
  for (const path of ["/sign-in", "/sign-in/callback", "/sign-out"]) {
    const answer = await without.send(path);
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      404,
      "route_not_found",
    ]);
  }
});

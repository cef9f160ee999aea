import { signInClient, startOpenIdProvider } from "@svc/test-support/openid-provider";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Attempt, openAttempt, sealAttempt } from "../src/people/attempt.ts";
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
const returned = async (who = "ada"): Promise<URL> => plane.provider.logIn(await person.begin("/me"), who);

const isSignedIn = (): boolean => person.cookies.has("svc-person");
/** Replaces the attempt in the browser by a changed one, as only a process with the key can. */
async function changeAttempt(change: Partial<Attempt>): Promise<void> {
  const [name = "", sealed = ""] = [...person.cookies].find(([cookie]) => cookie.startsWith("svc-attempt-")) ?? [];
  const opened = await openAttempt(sealed, means().attemptKey, Date.now());
  if (opened === undefined) throw new Error("the browser has no attempt");
  person.cookies.set(name, await sealAttempt({ ...opened, ...change }, means().attemptKey, Date.now()));
}

const withParameter = (url: URL, name: string, value: string | undefined): URL => {
  const changed = new URL(url);
  if (value === undefined) changed.searchParams.delete(name);
  else changed.searchParams.set(name, value);
  return changed;
};

describe("a callback signs in only the browser that began, for the login that it began", () => {
  test.each<[string, (url: URL) => URL]>([
    ["without a state", (url) => withParameter(url, "state", undefined)],
    ["with another state", (url) => withParameter(url, "state", "A".repeat(43))],
    ["with an altered state", (url) => withParameter(url, "state", `${url.searchParams.get("state")?.slice(0, -1)}!`)],
    ["with a longer state", (url) => withParameter(url, "state", `${url.searchParams.get("state")}A`)],
    ["without a code", (url) => withParameter(url, "code", undefined)],
    ["with another code", (url) => withParameter(url, "code", "another")],
    ["of another provider (RFC 9207)", (url) => withParameter(url, "iss", "https://other.test")],
    ["without its provider's name (RFC 9207)", (url) => withParameter(url, "iss", undefined)],
    ["with two states", (url) => new URL(`${url.href}&state=${url.searchParams.get("state")}`)],
    ["with the tokens of an implicit flow", (url) => new URL(`${url.href}&id_token=a.b.c`)],
    ["with a response in a JWT", (url) => new URL(`${url.href}&response=a.b.c`)],
  ])("not %s", async (_name, change) => {
    const answer = await person.callback(change(await returned()));
    expect(answer.status).toBe(400);
    expect(isSignedIn()).toBe(false);
  });

  test.each<[string, Partial<Attempt>]>([
    ["for another nonce", { nonce: "another" }],
    ["for another PKCE verifier", { verifier: "v".repeat(43) }],
  ])("not %s", async (_name, change) => {
    const callback = await returned();
    await changeAttempt(change);
    expect((await person.callback(callback)).status).toBe(400);
    expect(isSignedIn()).toBe(false);
  });

  test("not in another browser, which a stranger leads to a callback of their own (login CSRF)", async () => {
    const victim = browser(plane.deps);
    const callback = await returned("ben");
    const answer = await victim.callback(callback);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("not begun in this browser");
    expect(victim.cookies.size).toBe(0);
    // Also where that browser began a sign-in of its own.
    await victim.begin();
    expect((await victim.callback(callback)).status).toBe(400);
    const own = new URL(await victim.begin());
    const mixed = withParameter(callback, "state", own.searchParams.get("state") ?? "");
    expect((await victim.callback(mixed)).status).toBe(400);
    expect(victim.cookies.has("svc-person")).toBe(false);
  });

  test("not with a code of another provider, also one that names itself", async () => {
    const other = await startOpenIdProvider({ clients: [signInClient("https://plane.test")] });
    try {
      const begun = await person.begin();
      const led = new URL(`${other.issuer}${begun.pathname}${begun.search}`);
      const callback = await other.logIn(led, "ada");
      expect(callback.searchParams.get("iss")).toBe(other.issuer);
      expect((await person.callback(callback)).status).toBe(400);
      const again = new URL(await person.begin());
      const posing = withParameter(callback, "iss", plane.provider.issuer);
      posing.searchParams.set("state", again.searchParams.get("state") ?? "");
      expect((await person.callback(posing)).status).toBe(400);
      expect(isSignedIn()).toBe(false);
    } finally {
      await other.stop();
    }
  });

  test("not after ten minutes", async () => {
    const begun = await person.begin();
    const late = copyOf(person, { ...plane.deps, clock: { nowMs: () => Date.now() + 600_000 } });
    expect((await late.callback(await plane.provider.logIn(begun, "ada"))).status).toBe(400);
  });

  test("not by an attempt that another key sealed", async () => {
    const callback = await returned();
    const [[name = "", sealed = ""] = []] = person.cookies;
    const opened = await openAttempt(sealed, means().attemptKey, Date.now());
    if (opened === undefined) throw new Error("the browser has no attempt");
    person.cookies.set(name, await sealAttempt(opened, new Uint8Array(32), Date.now()));
    expect((await person.callback(callback)).status).toBe(400);
  });
});

describe("a callback that is used a second time", () => {
  test("signs in no more, and ends the sign-in that came of it", async () => {
    const callback = await returned();
    const copy = copyOf(person, plane.deps);
    expect((await person.callback(callback)).status).toBe(303);
    expect(await opensConsole(person)).toBe(true);
    expect((await copy.callback(callback)).status).toBe(400);
    expect(copy.cookies.has("svc-person")).toBe(false);
    expect(await opensConsole(person)).toBe(false);
  });

  test("in the same browser, without the attempt, changes nothing", async () => {
    const callback = await returned();
    await person.callback(callback);
    expect((await person.callback(callback)).status).toBe(400);
    expect(await opensConsole(person)).toBe(true);
  });

  test("at the same moment ends what came of it too, although the provider takes the code twice", async () => {
    const person200 = {
      kind: "person",
      issuer: plane.provider.issuer,
      subject: "ada",
      name: null,
      email: null,
    } as const;
    const lenient = { ...person200, groups: ["platform"], idTokenHash: "h" };
    const people = { ...means(), login: { ...means().login, complete: async () => lenient } };
    const callback = await returned();
    const copies = Array.from({ length: 5 }, () => copyOf(person, { ...plane.deps, people }));
    const answers = await Promise.all(copies.map((copy) => copy.callback(callback)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 400, 400, 400, 400]);
    expect(await Promise.all(copies.map(opensConsole))).toEqual(copies.map(() => false));
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { IdentityProviderUnavailable } from "../src/ports/identity-provider.ts";
import type { LoginEnd, PersonLogin } from "../src/ports/person-login.ts";
import type { Deps } from "../src/routes/deps.ts";
import { type Browser, browser, copyOf, startSignIn } from "./sign-in-support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
let person: Browser;
beforeAll(async () => {
  plane = await startSignIn();
});
afterAll(() => plane.stop());
beforeEach(() => {
  person = browser(plane.deps);
});

const host = (): string => new URL(plane.provider.issuer).host;

/** The same control plane with another end of logins. */
function ending(end: () => Promise<LoginEnd>): Deps {
  const { people } = plane.deps;
  if (people === undefined) throw new Error("no provider is configured");
  return { ...plane.deps, people: { ...people, login: { ...people.login, complete: end } } };
}

/** The page at the callback, in place of the one that the person wanted. */
async function pageAfter(end: () => Promise<LoginEnd>) {
  const callback = await plane.provider.logIn(await person.begin("/me?tab=all"), "ada");
  const response = await copyOf(person, ending(end)).callback(callback);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const again = 'href="/sign-in?next=%2Fme%3Ftab%3Dall"';

test("a person who cancels at the provider reads what happened, and can begin again", async () => {
  const response = await person.callback(await plane.provider.cancel(await person.begin("/me?tab=all")));
  const text = await response.text();
  expect(response.status).toBe(403);
  expect(text).toContain(`The sign-in was refused at ${host()}: it was cancelled`);
  expect(text).toContain("access_denied");
  expect(text).toContain(again);
  expect(person.cookies.has("svc-person")).toBe(false);
});

test.each([
  ["access_denied", "it was cancelled, or your account may not use this service"],
  ["temporarily_unavailable", "at present"],
  ["server_error", "had an error of its own"],
  ["login_required", "without a further step"],
  ["consent_required", "not yet allowed to know who you are"],
  ["unheard_of", "an operator must correct its settings"],
  ["toString", "an operator must correct its settings"],
])("the provider's error %s is put in words", async (error, words) => {
  const { status, text } = await pageAfter(async () => ({ kind: "refused", error }));
  expect(status).toBe(403);
  expect(text).toContain(words);
});

test("an error that holds markup is shown as text", async () => {
  const { text } = await pageAfter(async () => ({ kind: "refused", error: "<script>alert(1)</script>" }));
  expect(text).not.toContain("<script>alert");
  expect(text).toContain("&lt;script&gt;");
});

test("a client that the provider does not accept is the operator's to correct", async () => {
  const { status, text } = await pageAfter(async () => ({ kind: "client_refused", cause: new Error("secret-cause") }));
  expect(status).toBe(503);
  expect(text).toContain("SVC_IDP_CLIENT_ID");
  expect(text).not.toContain("secret-cause");
});

describe("a provider that does not respond", () => {
  const down = () => Promise.reject(new IdentityProviderUnavailable("down", { cause: new Error("secret-cause") }));
  const expectAdvice = async (response: Response) => {
    const text = await response.text();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(text).toContain(`${host()} does not respond`);
    expect(text).toContain("SVC_IDP_ISSUER");
    expect(text).not.toContain("secret-cause");
  };

  test("at the beginning is a page that says what to do", async () => {
    const { people } = plane.deps;
    const login: PersonLogin = { begin: down, complete: down };
    const outage = browser({ ...plane.deps, people: people && { ...people, login } });
    await expectAdvice(await outage.send("/sign-in"));
  });

  test("at the callback too, and signs in nothing", async () => {
    const callback = await plane.provider.logIn(await person.begin(), "ada");
    const copy = copyOf(person, ending(down));
    await expectAdvice(await copy.callback(callback));
    expect(copy.cookies.has("svc-person")).toBe(false);
  });
});

test("a database that does not respond is a page, and signs in nothing", async () => {
  const callback = await plane.provider.logIn(await person.begin(), "ada");
  const unavailable = Object.assign(new Error("down"), { code: "database_unavailable" });
  const signIns = { ...plane.deps.signIns, begin: () => Promise.reject(unavailable) };
  const copy = copyOf(person, { ...plane.deps, signIns });
  const response = await copy.callback(callback);
  expect(response.status).toBe(503);
  expect(await response.text()).toContain("DATABASE_URL");
  expect(copy.cookies.has("svc-person")).toBe(false);
});

import { Hono } from "hono";
import { expect, test } from "vitest";
import type { People } from "../src/people/deps.ts";
import { type SignedIn, type SignInPages, signInPages } from "../src/people/signed-in.ts";

const signedIn = (signInId: string): SignedIn => ({
  ...{ signInId, issuer: "https://idp.test", subject: "ada", roles: [], idTokenHash: "h", expiresAtMs: 0 },
});
const ada = signedIn("01a00000-0000-7000-8000-000000000001");
const other = signedIn("01a00000-0000-7000-8000-000000000002");

const pagesWith = (formKey: Uint8Array): SignInPages =>
  signInPages({
    people: { formKey } as People,
    signIns: { running: async () => undefined },
    clock: { nowMs: () => 0 },
  });
const pages = pagesWith(new Uint8Array(32).fill(1));

async function isOwn(token: string | undefined, headers: Record<string, string>): Promise<boolean> {
  const app = new Hono();
  app.post("/", (c) => c.json(pages.isOwnForm(c, ada, token)));
  const sent = { host: "plane.test", ...headers };
  return (await (await app.request("/", { method: "POST", headers: sent })).json()) as boolean;
}

const token = pages.formToken(ada);

test.each([
  ["Sec-Fetch-Site", { "sec-fetch-site": "same-origin" }],
  ["Sec-Fetch-Site beside the Origin of a page without referrer", { "sec-fetch-site": "same-origin", origin: "null" }],
  ["Origin", { origin: "https://plane.test" }],
])("a form with its person's token is own by %s", async (_name, headers) => {
  expect(await isOwn(token, headers)).toBe(true);
});

test.each([
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["a neighbour's site", { "sec-fetch-site": "same-site", origin: "https://other.plane.test" }],
  ["no page", { "sec-fetch-site": "none" }],
  ["another origin", { origin: "https://evil.test" }],
  ["another port", { origin: "https://plane.test:444" }],
  ["an opaque origin", { origin: "null" }],
  ["a client that names neither", {}],
])("a form of %s is foreign, also with the token", async (_name, headers) => {
  expect(await isOwn(token, headers)).toBe(false);
});

test.each([
  ["without a token", undefined],
  ["with an empty one", ""],
  ["with another person's", pages.formToken(other)],
  ["with one of another key", pagesWith(new Uint8Array(32)).formToken(ada)],
  ["with a shortened one", token.slice(0, -2)],
  ["with a longer one", `${token}AA`],
  ["with the sign-in's id", ada.signInId],
])("a form %s is foreign", async (_name, sent) => {
  expect(await isOwn(sent, { "sec-fetch-site": "same-origin" })).toBe(false);
});

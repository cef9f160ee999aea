import { Hono } from "hono";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signInPages } from "../src/people/signed-in.ts";
import { browser, startSignIn } from "./sign-in-support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
beforeAll(async () => {
  plane = await startSignIn();
});
afterAll(() => plane.stop());

test("a person who signs in at the provider is known by subject, name, email and roles", async () => {
  const { signIn, cookies } = browser(plane.deps);
  const response = await signIn(plane.provider, "ada", "/me?tab=all");
  expect([response.status, response.headers.get("location")]).toEqual([303, "/me?tab=all"]);
  expect(await holderOf(cookies)).toMatchObject({
    issuer: plane.provider.issuer,
    subject: "ada",
    name: "Ada Lovelace",
    email: "ada@people.test",
    roles: ["audit"],
  });
});

test("on a machine of its own, a sign-in begins at the issuer's host, whose cookies its callback has", async () => {
  const deps = { ...plane.deps, issuer: "http://127.0.0.1:8080" };
  const { send } = browser(deps);
  const elsewhere = await send("http://localhost:8080/sign-in?next=%2Fme");
  expect([elsewhere.status, elsewhere.headers.get("location")]).toEqual([
    303,
    "http://127.0.0.1:8080/sign-in?next=%2Fme",
  ]);
  for (const there of ["http://127.0.0.1:9090", "https://plane.test", "http://localhost.evil.test"]) {
    const { headers } = await send(`${there}/sign-in?next=%2Fme`);
    expect(headers.get("location")).toContain(plane.provider.issuer);
  }
});

/** Reads a cookie jar as a page does. */
async function holderOf(cookies: ReadonlyMap<string, string>) {
  const { people, signIns, clock } = plane.deps;
  if (people === undefined) throw new Error("no provider is configured");
  const app = new Hono();
  const pages = signInPages({ people, signIns, clock });
  app.get("/", async (c) => c.json((await pages.holder(c)) ?? null));
  const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
  return (await app.request("/", { headers: { cookie } })).json();
}

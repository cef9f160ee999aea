import { afterAll, beforeAll, expect, test } from "vitest";
import { endSignIns } from "../src/commands/sign-ins.ts";
import type { Consents } from "../src/ports/consents.ts";
import { browser, copyOf, startSignIn } from "./sign-in-support.ts";

let plane: Awaited<ReturnType<typeof startSignIn>>;
let ada: ReturnType<typeof browser>;
beforeAll(async () => {
  plane = await startSignIn({ SVC_CONSOLE_ROLES: "platform=admin", SVC_RATE_LIMIT_PER_BEARER: "40/600" });
  ada = browser(plane.deps);
});
afterAll(() => plane.stop());

const query = "act=set_block&kind=tool&ref=http%3Aledger%2Fread";

async function formOf(visitor: typeof ada): Promise<URLSearchParams> {
  const text = await (await visitor.send(`/console/act?${query}`)).text();
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return new URLSearchParams([...hidden.map(([, name = "", value = ""]) => [name, value]), ["reason", "incident"]]);
}

const post = (visitor: typeof ada, body: URLSearchParams): Promise<Response> =>
  visitor.send("/console/act", { method: "POST", body, headers: { "sec-fetch-site": "same-origin" } });

const blocks = async () => (await plane.send("/v1/blocks")).json.data;

test("a sign-in that ends between the check and the commit acts no more", async () => {
  await ada.signIn(plane.provider, "ada");
  const { deps } = plane;
  const spend: Consents["spend"] = async (answer) => {
    await endSignIns(deps, { subject: "ada" }, { by: "alice", reason: null });
    return deps.consents.spend(answer);
  };
  const racing = copyOf(ada, { ...deps, consents: { ...deps.consents, spend } });
  expect((await post(racing, await formOf(racing))).status).toBe(401);
  expect(await blocks()).toEqual([]);
});

test("an administrator whose role left the settings acts no more, with the form of before", async () => {
  await ada.signIn(plane.provider, "ada");
  const form = await formOf(ada);
  const { people } = plane.deps;
  const changed = copyOf(ada, { ...plane.deps, people: people && { ...people, rolesOf: () => ["audit"] as const } });
  expect((await post(changed, form)).status).toBe(403);
  expect(await blocks()).toEqual([]);
});

test("acts count against the rate of the sign-in", async () => {
  await ada.signIn(plane.provider, "ada");
  const form = await formOf(ada);
  const statuses = new Set<number>();
  for (let sent = 0; sent < 40; sent += 1) statuses.add((await post(ada, form)).status);
  expect([...statuses]).toEqual([303, 409, 429]);
});

import { setInterval as every } from "node:timers/promises";
import { requires } from "@svc/test-support";
import { expect } from "vitest";
import type { Answer, Api } from "./src/api.ts";
import { pairForTests } from "./src/for-tests.ts";
import { rotate } from "./src/issuer-keys.ts";
import { ledgerHops } from "./src/ledger.ts";

const { test } = requires("redis-server");

const { one, other } = await pairForTests();
const hops = ledgerHops("books");

/** Three requests that alternate between the processes: consent, decision, exchange. */
async function delegate(here: Api, there: Api): Promise<readonly Answer[]> {
  const consent = { bearer: here.tokens.admin, body: { scope: "books", user_sub: "ada" } };
  const consented = await here.call("POST", "/v1/consent", consent);
  if (consented.status !== 201) return [consented];
  const { session_id: session, root_grant: token } = consented.body;
  const decided = await there.authorize(session, token, hops.planner);
  if (decided.status !== 200) return [consented, decided];
  return [consented, decided, await here.exchange(token, hops.planner, decided.body.action_id)];
}

test("at 200 requests a second over two processes, no valid token is refused during key rotations, also under tokens of unknown keys", async () => {
  const requests = 1_000;
  const delegations: Promise<readonly Answer[]>[] = [];
  const strangers: Promise<Answer>[] = [];
  const rotations: Promise<Answer>[] = [];
  // The callers set the rate: no response is awaited here.
  for await (const _ of every(15)) {
    const [here, there] = delegations.length % 2 === 0 ? [one, other] : [other, one];
    delegations.push(delegate(here, there));
    strangers.push(there.renew(tokenOfUnknownKey(), 1));
    if (delegations.length % 16 === 0) rotations.push(rotate(here, { now: true }));
    if (delegations.length * 3 >= requests) break;
  }
  const answers = (await Promise.all(delegations)).flat();
  // An overloaded service returns 503; it must not refuse a valid token.
  const refused = answers.filter(({ status }) => ![200, 201, 503].includes(status)).map(({ text }) => text);
  expect(refused).toEqual([]);
  expect(answers.filter(({ status }) => status !== 503).length).toBeGreaterThan(requests / 2);
  expect((await Promise.all(rotations)).filter(({ status }) => status === 200).length).toBeGreaterThan(10);
  const toStrangers = new Set((await Promise.all(strangers)).map(({ status }) => status));
  expect([...toStrangers].filter((status) => status !== 503)).toEqual([401]);
});

/** Well-formed, but signed by an unknown key. */
function tokenOfUnknownKey(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = part({ alg: "ES256", typ: "at+jwt", kid: "a".repeat(43) });
  return `${header}.${part({ iss: "https://issuer.test" })}.${Buffer.alloc(64).toString("base64url")}`;
}

import { randomUUID } from "node:crypto";
import { namedAlike, startOwnRedis } from "@svc/test-support";
import { generatePrivateJwk, importAgentKey, readPublicKey, signActorProof } from "@svc/tokens";
import { afterAll, describe, expect, test } from "vitest";
import { RestoreUnacknowledged } from "../src/commands/watch-restore.ts";
import type { Deps } from "../src/deps.ts";
import { type HopAsked, outcomeOf, startWay, type Taken, type Way, type WayName, ways } from "./two-ways.ts";

const redis = await startOwnRedis();
const started = await Promise.all((Object.keys(ways) as WayName[]).map((name) => startWay(name, redis.url)));
const [two, one] = started as [Way, Way];
afterAll(async () => {
  await Promise.all(started.map((way) => way.stop()));
  await redis.stop();
});

const agentKey = await importAgentKey(await generatePrivateJwk());
const agentVerifies = await readPublicKey(agentKey.publicJwk);
let proofs = 0;
const proofFor = (subjectToken: string, agent = "clerk") =>
  signActorProof(
    agentKey,
    { agent, audience: "https://plane.test", nowSeconds: Date.now() / 1000, jti: `proof ${++proofs}` },
    { subjectToken },
  );

/** What one case works with, in either way. */
interface Acting {
  readonly way: Way;
  readonly token: string;
  /** A hop to this target under the session's own token, unless `asked` says otherwise. */
  hop(target: string, asked?: Partial<HopAsked>): Promise<Taken>;
}

interface Case {
  readonly name: string;
  readonly ports?: (deps: Deps, way: Way) => Partial<Deps>;
  readonly act: (acting: Acting) => Promise<Taken[]>;
  /** What each of its hops comes to. */
  readonly want: readonly string[];
}

/** Runs `change` once, right after a decision was committed. */
const afterDecision = (change: (way: Way, session: string) => Promise<unknown>) => (deps: Deps, way: Way) => {
  let isDone = false;
  return {
    decisions: {
      ...deps.decisions,
      async append(...args: Parameters<Deps["decisions"]["append"]>) {
        const outcome = await deps.decisions.append(...args);
        if (!isDone) {
          isDone = true;
          await change(way, args[0].sessionId);
        }
        return outcome;
      },
    },
  };
};

const accessToken = ({ exchange }: Taken) => String((exchange?.body as { access_token?: string })?.access_token);
const down = async (): Promise<never> => {
  throw Object.assign(new Error("down"), { code: "database_unavailable" });
};

const unacknowledged = (): never => {
  throw new RestoreUnacknowledged("the database is older than one that was served");
};

const single = (
  [
    ["an allow", "allow, 200", "http:books/read"],
    ["an allow whose body is to be seen first", "allow, 200", "http:books/strict"],
    ["an allow of a privileged target", "allow, 200", "http:books/pay"],
    ["an allow that marks", "allow, 200", "http:books/web"],
    ["an allow under declared taint", "allow, 200", "http:books/read", { more: { taint: "untrusted_external" } }],
    ["a delegation", "allow, 200", "clerk", { targetKind: "agent" }],
    ["an observed allow", "allow, 200", "http:books/read", { more: { enforced: false } }],
    ["an observed deny", "deny TARGET_NOT_DECLARED", "http:books/none", { more: { enforced: false } }],
    ["an unknown tool", "deny TARGET_NOT_DECLARED", "http:books/none"],
    ["an undeclared data class", "deny DATA_CLASS_NOT_DECLARED", "http:books/read", { dataClass: "medical" }],
    ["what another scope would admit", "deny SCOPE_NOT_CONSENTED", "http:archive/read"],
    ["a blocked target", "deny TARGET_BLOCKED", "http:books/blocked"],
    ["refused taint", "deny TAINT_BLOCKED", "http:books/strict", { more: { taint: "untrusted_external" } }],
    ["another session's identifier", "401 unauthorized", "http:books/read", { session: randomUUID() }],
    ["a body that says too much", "400 invalid_request", "http:books/read", { more: { amount: 1 } }],
    ["a proof that is none", "allow, 400 invalid_request", "http:books/read", { actorToken: "no.proof.atall" }],
  ] as const satisfies readonly (readonly [string, string, string, Partial<HopAsked>?])[]
).map(
  ([name, want, target, asked]): Case => ({ name, want: [want], act: async ({ hop }) => [await hop(target, asked)] }),
);

const readOnce: Case["act"] = async ({ hop }) => [await hop("http:books/read")];
const readTwice: Case["act"] = async ({ hop }) => [await hop("http:books/read"), await hop("http:books/read")];
const blockOfRead = "/v1/blocks/tool/http:books%2Fread";

const cases: Case[] = [
  ...single,
  { name: "a token that was spent", act: readTwice, want: ["allow, 200", "allow, 400 invalid_grant"] },
  {
    name: "a tool's token",
    want: ["allow, 200", "401 unauthorized"],
    async act({ hop }) {
      const first = await hop("http:books/read");
      return [first, await hop("http:books/read", { token: accessToken(first) })];
    },
  },
  {
    name: "a chain of two agents",
    want: ["allow, 200", "allow, 200", "deny TARGET_NOT_DECLARED", "allow, 200"],
    async act({ hop }) {
      const first = await hop("clerk", { targetKind: "agent" });
      const second = await hop("auditor", { targetKind: "agent", token: accessToken(first) });
      const token = accessToken(second);
      return [first, second, await hop("http:books/pay", { token }), await hop("http:books/read", { token })];
    },
  },
  {
    name: "what follows on a call that marked its chain",
    want: ["allow, 200", "allow, 200", "deny TAINT_BLOCKED"],
    async act({ hop, way, token }) {
      const [first = "", second = "", third = ""] = await renewed(way, token, 3);
      return [
        await hop("http:books/web", { token: first }),
        await hop("http:books/read", { token: second }),
        await hop("http:books/strict", { token: third }),
      ];
    },
  },
  {
    name: "a session that is ended in between",
    want: ["allow, 403 invalid_target"],
    ports: afterDecision((way, session) => way.plane.send(`/v1/sessions/${session}/revoke`, { method: "POST" })),
    act: readOnce,
  },
  {
    name: "a target that is blocked in between",
    want: ["allow, 403 invalid_target"],
    ports: afterDecision((way) => way.plane.send(blockOfRead, { method: "PUT", body: { reason: "hostile" } })),
    async act(acting) {
      const told = await readOnce(acting);
      await acting.way.plane.send(blockOfRead, { method: "DELETE" });
      return told;
    },
  },
  {
    name: "a token that expires in between",
    want: ["allow, 400 invalid_request"],
    ports(deps, way) {
      let isLate = false;
      const late = async () => {
        isLate = true;
      };
      return { ...afterDecision(late)(deps, way), clock: { nowMs: () => Date.now() + (isLate ? dayMs : 0) } };
    },
    act: readOnce,
  },
  {
    name: "a token that has expired",
    want: ["401 unauthorized"],
    ports: () => ({ clock: { nowMs: () => Date.now() + dayMs } }),
    act: readOnce,
  },
  {
    name: "a scope that may not be observed",
    want: ["400 invalid_request"],
    ports: ({ hopSettings }) => ({ hopSettings: { ...hopSettings, mayObserve: () => false } }),
    act: async ({ hop }) => [await hop("http:books/read", { more: { enforced: false } })],
  },
  {
    name: "a decision that cannot be recorded",
    want: ["503 audit_unavailable"],
    ports: ({ decisions }) => ({ decisions: { ...decisions, append: down } }),
    act: readOnce,
  },
  {
    name: "a restore that nobody has acknowledged",
    want: ["503 audit_unavailable"],
    ports: () => ({ requireAcknowledged: unacknowledged }),
    act: readOnce,
  },
  {
    name: "a restore that is found out in between",
    want: ["allow, 503 invalid_grant"],
    ports(deps, way) {
      let isBehind = false;
      const fallBehind = async () => {
        isBehind = true;
      };
      const requireAcknowledged = () => {
        if (isBehind) unacknowledged();
      };
      return { ...afterDecision(fallBehind)(deps, way), requireAcknowledged };
    },
    act: readOnce,
  },
  {
    name: "a guard that cannot be reached",
    want: ["allow, 503 invalid_grant"],
    // What it says of itself belongs to the span of the exchange.
    ports: ({ guard }, { events }) => ({
      guard: {
        ...guard,
        async claim() {
          events.storeUnavailable(new Error("down"));
          return down();
        },
      },
    }),
    act: readOnce,
  },
  {
    name: "a database that is lost between decision and spend",
    want: ["allow, 503 invalid_grant"],
    ports: ({ spends }) => ({ spends: { ...spends, spend: down } }),
    act: readOnce,
  },
  {
    name: "a rate that the decision uses up",
    want: ["allow, 429 slow_down", "429 rate_limited"],
    ports: ({ limits }) => ({ limits: { ...limits, session: budgetOf(1) } }),
    act: readTwice,
  },
  {
    name: "a rate that one hop uses up",
    want: ["allow, 200", "429 rate_limited"],
    ports: ({ limits }) => ({ limits: { ...limits, session: budgetOf(2) } }),
    act: readTwice,
  },
  {
    name: "a proof that is missing",
    want: ["allow, 400 invalid_request"],
    ports: ({ hopSettings }) => ({ hopSettings: { ...hopSettings, identityRequired: true } }),
    act: readOnce,
  },
  {
    name: "a proof that holds, and the same once more",
    want: ["allow, 200", "allow, 400 invalid_request"],
    ports: () => ({ agentKeys: { keysOf: async () => pinned() } }),
    async act({ hop, way, token }) {
      const [first = "", second = ""] = await renewed(way, token, 2);
      const actorToken = await proofFor(first);
      return [
        await hop("http:books/read", { token: first, actorToken }),
        await hop("http:books/read", { token: second, actorToken }),
      ];
    },
  },
  {
    name: "a proof of somebody else",
    want: ["allow, 400 invalid_request"],
    ports: () => ({ agentKeys: { keysOf: async () => pinned() } }),
    act: async ({ hop, token }) => [await hop("http:books/read", { actorToken: await proofFor(token, "auditor") })],
  },
];

const dayMs = 86_400_000;
const pinned = () => (agentVerifies.ok ? [agentVerifies.key] : []);

/** So many calls, and then a minute to wait. */
function budgetOf(calls: number) {
  let left = calls;
  return async () => (left-- > 0 ? 0 : 60);
}

/** So many siblings of a token. */
async function renewed({ plane }: Way, token: string, count: number): Promise<readonly string[]> {
  const { json } = await plane.send("/v1/token/renew", { token, body: { count } });
  return json.tokens as unknown as string[];
}

/** Everything that a case leaves behind, whichever way its hops are taken. */
async function leftBehind(way: Way, { ports = () => ({}), act }: Case) {
  const { session, token } = await way.consent();
  const app = way.with((deps) => ports(deps, way));
  let told: readonly Taken[] = [];
  const left = await way.left(session, async () => {
    const hop: Acting["hop"] = (target, asked) => way.hop(app, { token, session, target, ...asked });
    told = await act({ way, token, hop });
  });
  return { outcomes: told.map(outcomeOf), ...namedAlike({ session, told, left }) };
}

describe("in one trip", () => {
  test.each(cases)("$name is answered, recorded, counted and logged exactly as in two", async (each) => {
    const inTwo = await leftBehind(two, each);
    expect(inTwo.outcomes).toEqual(each.want);
    expect(await leftBehind(one, each)).toEqual(inTwo);
  });

  test.each([
    ["a target that accepts taint", "http:books/read", "tool", true],
    ["a target that refuses taint", "http:books/strict", "tool", false],
    ["a privileged target", "http:books/pay", "tool", false],
    ["an agent, whom no policy says to accept taint", "clerk", "agent", false],
  ] as const)(
    "of %s the trip brings the token only where no body need be seen first",
    async (_name, target, kind, isSpent) => {
      const { session, token } = await one.consent();
      const body = { session_id: session, target, target_kind: kind, data_class: "finance.entries" };
      const { json } = await one.plane.send("/v1/hop", { token, body });
      expect(json.decision?.decision).toBe("allow");
      expect([json.exchange !== null, json.stage_ms?.exchange !== null]).toEqual([isSpent, isSpent]);
    },
  );

  test("tells how long each stage took", async () => {
    const { session, token } = await one.consent();
    let nowMs = 0;
    const monotonicMs = () => {
      nowMs += 7;
      return nowMs;
    };
    const app = one.plane.with({ oneTrip: { monotonicMs } });
    const body = { session_id: session, target: "http:books/read", target_kind: "tool", data_class: "finance.entries" };
    expect((await app.send("/v1/hop", { token, body })).json.stage_ms).toEqual({ decide: 7, exchange: 7 });
  });
});

test("by default there is no such route, whatever is asked of it", async () => {
  const { token } = await two.consent();
  for (const method of ["GET", "POST", "PUT"]) {
    const { status, json } = await two.plane.send("/v1/hop", { method, token });
    expect([status, json.error?.code]).toEqual([404, "route_not_found"]);
  }
  const paths = (await two.plane.send("/openapi.json")).json.paths;
  expect(Object.keys(paths ?? {})).not.toContain("/v1/hop");
  expect(Object.keys((await one.plane.send("/openapi.json")).json.paths ?? {})).toContain("/v1/hop");
});

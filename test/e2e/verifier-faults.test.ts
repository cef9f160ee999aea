import type { AuthzClient, Grant } from "@svc/client";
import {
  type AnswerFault,
  type FaultProxy,
  requires,
  startFaultProxy,
  startOwnRedis,
  waitUntil,
} from "@svc/test-support";
import { createVerifier, type ReplayStore, type Verifier, type VerifierOptions } from "@svc/verifier";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  auditor,
  bearers,
  type ClientStand,
  clientOf,
  consent,
  overrideReason,
  planner,
  post,
  read,
  startClientStand,
} from "./src/client/stand.ts";

/** A verifier whose connection to a real control plane breaks: without fresh keys and view it refuses. */
let stand: ClientStand;
let svc: AuthzClient;
beforeAll(async () => {
  stand = await startClientStand();
  svc = clientOf(stand.url);
  // Without any revocation there is nothing to roll back: the list is as of 1970.
  const manifest = { scopes: { spare: { hop_budget: 1 } } };
  await svc.identity.revoke((await svc.admin.registerAgent({ name: "spare", manifest, overrideReason })).agentId);
});
afterAll(async () => {
  await svc?.close();
  await stand?.stop();
});

/** The auditor's, downstream of the planner. */
async function newGrant(): Promise<Grant> {
  const [, first] = await svc.hop((await svc.consent(consent)).context(), planner);
  const [, second] = await svc.hop(first, auditor);
  return svc.authorize(second, read);
}

/** A grant's token lives for 60 s, and a test on a busy machine may take longer. */
async function freshGrants(): Promise<() => Promise<Grant>> {
  let grant = await newGrant();
  let atMs = performance.now();
  return async () => {
    if (performance.now() - atMs > 30_000) {
      atMs = performance.now();
      grant = await newGrant();
    }
    return grant;
  };
}

interface OnLine extends AsyncDisposable {
  readonly line: FaultProxy;
  readonly verifier: Verifier;
  /** `admitted`, or the cause of the refusal. */
  readonly outcome: () => Promise<string>;
}

async function verifierOnLine(
  options: (url: string) => Partial<VerifierOptions>,
  before: (line: FaultProxy) => Promise<void> | void = () => {},
): Promise<OnLine> {
  const freshGrant = await freshGrants();
  const line = await startFaultProxy(Number(new URL(stand.url).port));
  await before(line);
  const url = `http://127.0.0.1:${line.port}`;
  const base = { issuer: stand.url, audience: [read.target, post.target], jwksUrl: `${url}/.well-known/jwks.json` };
  const verifier = createVerifier({ ...base, identityView: "off", ...options(url) });
  return {
    line,
    verifier,
    outcome: async () => outcomeOf(verifier, await freshGrant()),
    [Symbol.asyncDispose]: async () => {
      verifier.close();
      await line.stop();
    },
  };
}

const outcomeOf = (verifier: Verifier, { headers }: Grant, params = {}): Promise<string> =>
  verifier.admit({ headers: headers(), dataClass: read.dataClass, params }).then(
    () => "admitted",
    (error) => error.cause,
  );

const comesTo = (wanted: string, { outcome }: Pick<OnLine, "outcome">) =>
  waitUntil(`a call to be ${wanted}`, async () => {
    const last = await outcome();
    if (last !== wanted) throw new Error(`it is ${last}`);
  });

describe.concurrent("issuer keys", () => {
  test("unreachable from the start: every token is refused until they are reachable", async () => {
    await using on = await verifierOnLine(
      () => ({}),
      (line) => line.refuse(),
    );
    expect(await on.outcome()).toBe("signature");
    await on.line.accept();
    await comesTo("admitted", on);
  });

  test("unreachable: tokens are accepted within the window, refused after it, and accepted again after recovery", async () => {
    await using on = await verifierOnLine(() => ({ freshnessSeconds: 4 }));
    expect(await on.outcome()).toBe("admitted");
    await on.line.refuse();
    expect(await on.outcome()).toBe("admitted");
    await comesTo("signature", on);
    await on.line.accept();
    await comesTo("admitted", on);
  });

  test.each<[string, AnswerFault]>([
    ["HTML", { kind: "replaced", by: "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>" }],
    ["a set without keys", { kind: "replaced", by: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"keys":0}' }],
    ["half a response", { kind: "ended", afterBytes: 120 }],
  ])("%s in place of the key set does not replace a valid one", async (_name, fault) => {
    await using on = await verifierOnLine(() => ({ freshnessSeconds: 9 }));
    expect(await on.outcome()).toBe("admitted");
    on.line.spoil("GET /.well-known/jwks.json", fault);
    const readings = () => on.line.sent().toString("latin1").split("GET /.well-known/jwks.json").length - 1;
    await waitUntil("the keys to be read again", () => readings() > 1);
    expect(await on.outcome()).toBe("admitted");
  });
});

const view = { refreshSeconds: 0.2 };
const viewing = (freshnessSeconds: number) => (url: string) => ({
  // Directly to the control plane: here the view's connection breaks.
  jwksUrl: `${stand.url}/.well-known/jwks.json`,
  identityView: { ...view, url, token: bearers.identityToken },
  freshnessSeconds,
});
const listAsOf = (asOf: string): AnswerFault => {
  const body = JSON.stringify({ data: [], page: { next_cursor: null, limit: 200 }, as_of: asOf });
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return { kind: "replaced", by: `${head}\r\n\r\n${body}` };
};

describe.concurrent("the view of revocations", () => {
  test.each<[string, (line: FaultProxy) => Promise<void> | void, (line: FaultProxy) => Promise<void> | void]>([
    ["unreachable", (line) => line.refuse(), (line) => line.accept()],
    ["without a response", (line) => line.freeze(), (line) => line.thaw()],
    [
      "with an earlier as_of",
      (line) => line.spoil("GET /v1/identity/revocations", listAsOf("2020-01-01T00:00:00.000Z")),
      (line) => line.heal(),
    ],
    [
      "with another document",
      (line) => line.spoil("GET /v1/identity/revocations", { kind: "replaced", by: "HTTP/1.1 200 OK\r\n\r\n{}" }),
      (line) => line.heal(),
    ],
  ])(
    "%s: every token is refused as stale after its window, and accepted again after recovery",
    async (_name, lose, regain) => {
      await using on = await verifierOnLine(viewing(3));
      expect(await on.outcome()).toBe("admitted");
      await lose(on.line);
      await comesTo("stale_identity_view", on);
      await regain(on.line);
      await comesTo("admitted", on);
    },
  );

  test("never read: every token is refused as stale from the start", async () => {
    await using on = await verifierOnLine(viewing(3), (line) => line.refuse());
    expect(await on.outcome()).toBe("stale_identity_view");
  });

  test("read with a wrong bearer: every token is refused as stale", async () => {
    await using on = await verifierOnLine((url) => ({
      identityView: { ...view, url, token: "a-bearer-of-no-plane-at-all-0123456789ab" },
      freshnessSeconds: 3,
    }));
    expect(await on.outcome()).toBe("stale_identity_view");
  });
});

requires("redis-server").test("replicas that share a store in Redis accept a transaction once together", async () => {
  const redis = await startOwnRedis();
  const replayStore: ReplayStore = {
    admitOnce: async (txn, expiresAt) =>
      (await redis.command("SET", txn, "1", "NX", "EXAT", String(Math.ceil(expiresAt)))) === "OK",
  };
  await using one = await verifierOnLine(() => ({ replayStore }));
  await using other = await verifierOnLine(() => ({ replayStore }));
  const params = { amount: 5 };
  const paid = await svc.authorize((await svc.consent(consent)).context(), { ...post, params });
  const replicas = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? one : other));
  const outcomes = await Promise.all(replicas.map(({ verifier }) => outcomeOf(verifier, paid, params)));
  expect(outcomes.toSorted()).toEqual(["admitted", ...Array(9).fill("replayed")]);
  await redis.stop();
  // A store that fails accepts no transaction.
  const next = await svc.authorize((await svc.consent(consent)).context(), { ...post, params });
  expect(await outcomeOf(one.verifier, next, params)).not.toBe("admitted");
});

test("a verifier sees a revocation within its window, and keeps it while the control plane is unreachable", async () => {
  await using on = await verifierOnLine(viewing(5));
  // A revoked agent gets no new token.
  const grant = await newGrant();
  const outcome = () => outcomeOf(on.verifier, grant);
  expect(await outcome()).toBe("admitted");
  await svc.identity.revoke(await svc.admin.agentId("auditor"), { reason: "the test" });
  await comesTo("revoked", { outcome });
  await on.line.refuse();
  expect(await outcome()).toBe("revoked");
});

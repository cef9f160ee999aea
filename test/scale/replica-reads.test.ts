import { clerkSession, ledgerHops } from "@svc/test-conformance/ledger";
import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { everyHopStep } from "./src/every-hop-step.ts";
import { statementsDuring } from "./src/logged-statements.ts";
import { type StandbyStand, startStandbyStand } from "./src/standby-stand.ts";

const { describe, test } = requires("postgresql", "redis-server");

const scope = "books";
const { planner, read } = ledgerHops(scope);
/** The statement by which a process reads the standby's position. */
const watching = /pg_last_wal_replay_lsn/;

let stand: StandbyStand;
beforeAll(async () => {
  stand = await startStandbyStand(scope);
});
afterAll(() => stand?.stop());

const decide = async (): Promise<{ session: string; action: string; atMs: number }> => {
  const { session, token } = await stand.api.consent(scope);
  const { body } = await stand.api.authorize(session, token, planner);
  return { session, action: body.action_id, atMs: Date.parse(body.decided_at) };
};
const listed = async (query: string): Promise<readonly string[]> =>
  (await stand.api.decisions(query)).body.data.map((row: { action_id: string }) => row.action_id);
const audit = (path: string) => stand.api.call("GET", path, { bearer: stand.api.tokens.audit });
/** A past time span that contains the decision. */
const spanOf = ({ session, atMs }: { session: string; atMs: number }): string =>
  `session_id=${session}&since=${new Date(atMs).toISOString()}&until=${new Date(atMs + 1).toISOString()}`;
/** Reads of the record that reached the standby during `work`. */
const readsOfStandby = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  const sent = await statementsDuring(stand.standby, async () => void (await work()));
  return [...sent].filter((statement) => !watching.test(statement));
};
/** The list contains a decision that the standby lacks, until long after its span ended. */
const staysWhole = async (): Promise<void> => {
  const decided = await decide();
  const answers = new Set<string>();
  await waitUntil("the time span to be long over", async () => {
    const isLongOver = Date.now() > decided.atMs + 4_000;
    answers.add((await listed(spanOf(decided))).join());
    return isLongOver;
  });
  expect([...answers]).toEqual([decided.action]);
  expect(await listed(`session_id=${decided.session}`)).toEqual([]);
};
const standbyServes = () =>
  waitUntil("a read of the standby", async () => {
    const { session } = await decide();
    return (await readsOfStandby(() => listed(`session_id=${session}`))).length > 0;
  });

test("no statement of consent, authorize, exchange, renewal, mint or revocation goes to the standby", async () => {
  await standbyServes();
  expect(await readsOfStandby(() => everyHopStep(stand.api, scope))).toEqual([]);
});

test("the lists, counts and pages of the audit go to the standby", async () => {
  await standbyServes();
  for (const path of ["/v1/audit/decisions", "/v1/audit/events", "/v1/audit/would-block", "/v1/sessions"]) {
    expect([path, await readsOfStandby(() => audit(path))]).toEqual([path, [expect.stringContaining("select")]]);
  }
});

describe("while the standby does not replay", () => {
  beforeAll(async () => {
    await standbyServes();
    await stand.standby.execute("select pg_wal_replay_pause()");
  });
  afterAll(() => stand.standby.execute("select pg_wal_replay_resume()"));

  test("its lists lag, and the chain and explanation of a newer action are complete", async () => {
    const { session, clerk } = await clerkSession(stand.api, scope);
    const { body: decision } = await stand.api.authorize(session, clerk.token, read);
    expect(await listed(`session_id=${session}`)).toEqual([]);
    expect((await stand.api.chain(decision.action_id)).body).toMatchObject({
      complete: true,
      hops: [{ hop: 1 }, { hop: 2 }, { hop: 3, action_id: decision.action_id }],
    });
    expect(await audit(`/v1/audit/actions/${decision.action_id}/explanation`)).toMatchObject({
      status: 200,
      body: { action_id: decision.action_id, decision: "allow" },
    });
  });

  test("a list of a past time span is complete", async () => {
    await staysWhole();
  });

  test("an unknown action is not found", async () => {
    expect((await stand.api.chain(crypto.randomUUID())).status).toBe(404);
  });
});

test("a standby that replays serves lists of past time spans", async () => {
  const decided = await decide();
  await waitUntil("a read of the time span from the standby", async () => {
    const sent = await readsOfStandby(async () => expect(await listed(spanOf(decided))).toEqual([decided.action]));
    return sent.length > 0;
  });
});

describe.each([
  {
    fault: "is down",
    break: () => stand.standby.kill(),
    mend: () => stand.standby.start(),
  },
  {
    fault: "does not respond",
    break: async () => stand.standby.freeze(),
    mend: async () => stand.standby.thaw(),
  },
])("a standby that $fault", (fault) => {
  /** Service without the standby. */
  const isDoneWithout = async (): Promise<void> => {
    const decided = await decide();
    await waitUntil("a read of the primary", async () => {
      const answer = await stand.api.decisions(`session_id=${decided.session}`);
      return answer.status === 200 && answer.body.data.length === 1;
    });
    expect((await audit("/readyz")).status).toBe(200);
    // The read that finds the standby silent is not repeated.
    await waitUntil("a chain of the primary", async () => (await stand.api.chain(decided.action)).status === 200);
    const another = await stand.startAnother();
    await another.stop();
  };

  test("is replaced by the primary, does not affect readiness or a start, and is used again after recovery", async () => {
    const { length } = stand.controlPlane.output();
    await fault.break();
    try {
      await isDoneWithout();
      await waitUntil("the log to report it", () =>
        stand.controlPlane.output().slice(length).includes("the standby of the audit reads does not answer"),
      );
    } finally {
      await fault.mend();
    }
    await standbyServes();
  });
});

test("a standby that no longer receives changes does not count as complete", async () => {
  await standbyServes();
  await stand.standby.detach();
  await staysWhole();
});

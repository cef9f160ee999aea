import { randomBytes } from "node:crypto";
import { type DecisionRecord, recordVersion } from "@svc/core";
import fc from "fast-check";
import { uuidv7 } from "uuidv7";
import { afterAll, expect, test } from "vitest";
import type { Exchange } from "../src/ports/spend-ledger.ts";
import { connect, poolOf } from "../src/postgres/database.ts";
import { type Append, insertDecisions } from "../src/postgres/decision-rows.ts";
import { decisionLog, decisionReads } from "../src/postgres/decisions.ts";
import { insertExchanges } from "../src/postgres/spends.ts";
import { recorder } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const { sql: recording, sessionId } = await recorder(plane);
const sql = connect({ url: plane.database.appUrl, maxConnections: 2, statementTimeoutMs: 5_000 });
afterAll(async () => {
  await Promise.all([recording.end(), sql.end()]);
  await plane.stop();
});

const epochsOf = async () => {
  const present = await plane.deps.sessionState.read({ sessionId, agents: [], nowMs: Date.now() });
  if (present === undefined) throw new Error("the session is gone");
  return present.epochs;
};

/** Any UTF-8 text without NUL, which a PostgreSQL text cannot contain. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }).map((any) => any.replaceAll("\0", "")),
  fc.stringMatching(/^["\\,(){} \tnulNUL]{0,8}$/),
);
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });

const facts = fc
  .record<Omit<DecisionRecord, "actionId" | "sessionId" | "decision" | "recordVersion">>({
    stage: fc.constantFrom("authorize", "exchange", "mint"),
    hop: fc.integer({ min: 1, max: 32 }),
    chain: fc.array(text, { maxLength: 3 }),
    actingAgent: text,
    target: text,
    targetKind: fc.constantFrom("tool", "agent"),
    dataClass: text,
    denyReason: orNull(fc.constantFrom("TAINT_BLOCKED", "SESSION_EXPIRED")),
    recoverable: fc.boolean(),
    enforced: fc.boolean(),
    privileged: fc.boolean(),
    taint: fc.constantFrom("trusted_internal", "untrusted_external"),
    taintSource: orNull(text),
    policyVersion: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    guaranteeLevel: orNull(fc.constantFrom("full", "connector", "network", "consent_only")),
    parentActionId: orNull(fc.constantFrom(uuidv7(), uuidv7())),
    decidedAtMs: fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
    present: orNull(fc.record({ expired: fc.constant(true as const), scopes: fc.array(text, { maxLength: 3 }) })),
  })
  .map((drawn): Omit<DecisionRecord, "actionId"> => {
    return { ...drawn, decision: drawn.denyReason === null ? "allow" : "deny", sessionId, recordVersion };
  });
const named = (record: Omit<DecisionRecord, "actionId">): DecisionRecord => ({ ...record, actionId: uuidv7() });

test("records with any text, written in any number together, are read as they were written", async () => {
  const epochs = await epochsOf();
  const reads = decisionReads(poolOf(sql, 5_000));
  await fc.assert(
    fc.asyncProperty(fc.array(facts, { minLength: 1, maxLength: 20 }), async (drawn) => {
      const appends = drawn.map((record): Append => ({ record: named(record), epochs }));
      expect(await insertDecisions(sql, appends)).toEqual(appends.map(() => true));
      for (const { record } of appends) {
        expect((await reads.lineage(record.actionId))?.action.record).toEqual(record);
      }
    }),
    { numRuns: 30 },
  );
});

test("a record with a text that the database cannot store fails alone", async () => {
  const epochs = await epochsOf();
  const log = decisionLog(poolOf(sql, 5_000));
  const drawn = fc.sample(facts, 5).map(named);
  const answers = await Promise.allSettled(
    drawn.map((record, index) =>
      log.append(index === 3 ? { ...record, target: "a\0b" } : record, { kind: "none" }, epochs),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(
    drawn.map((_, index) => (index === 3 ? "rejected" : "fulfilled")),
  );
});

test("a spend is read as it was written, with and without a proof of possession", async () => {
  const epochs = await epochsOf();
  const allow = { stage: "authorize", decision: "allow", denyReason: null } as const;
  const agents = [undefined, "planner", ...fc.sample(text, 20)];
  const appends = fc
    .sample(facts, agents.length)
    .map((record): Append => ({ record: named({ ...record, ...allow }), epochs }));
  await insertDecisions(sql, appends);
  const nowMs = Date.now();
  const spends = appends.map(({ record: { actionId } }, index): Exchange => {
    const agent = agents[index];
    const prover = agent === undefined ? undefined : { agent, proofJtiHash: randomBytes(32) };
    return { kind: "exchange", actionId, jtiHash: randomBytes(32), sessionId, prover, spentAtMs: nowMs - index };
  });
  expect(
    await insertExchanges(
      sql,
      spends.map((spend) => ({ spend, epochs })),
    ),
  ).toEqual(spends.map(() => true));
  const written = await sql`
    select action_id, jti_hash, session_id, kind, prover, proof_jti_hash, spent_at from spend order by spent_at desc`;
  expect(written.map((row) => ({ ...row }))).toEqual(
    spends.map(({ actionId, jtiHash, prover, spentAtMs }) => ({
      action_id: actionId,
      jti_hash: jtiHash,
      session_id: sessionId,
      kind: "exchange",
      prover: prover?.agent ?? null,
      proof_jti_hash: prover?.proofJtiHash ?? null,
      spent_at: spentAtMs,
    })),
  );
});

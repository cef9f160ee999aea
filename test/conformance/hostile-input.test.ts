import { createMigratedDatabase, startControlPlane, startRedisIfThere, testBearers } from "@svc/test-support";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { type Answer, createApi, refusalCode } from "./src/api.ts";
import { type Operation, readDocument } from "./src/document.ts";
import { prepare } from "./src/examples/index.ts";
import { aim } from "./src/hostile/aim.ts";
import { attacks } from "./src/hostile/attacks.ts";
import { type Base, basesOf, inOrder } from "./src/hostile/bases.ts";
import { changedTables, databaseDigests } from "./src/hostile/database-digest.ts";
import { openWire, type WireRequest } from "./src/hostile/wire-request.ts";
import { insertSignIn } from "./src/inserted-sign-in.ts";
import { insertSink } from "./src/inserted-sink.ts";

/** Tables that the process writes in the background. */
const ofItself = ["housekeeping", "seal", "witness"];

// Started at collection, since the document is the table of cases.
const [database, redis] = await Promise.all([createMigratedDatabase(), startRedisIfThere()]);
const controlPlane = await startControlPlane({ database, redis });
const owner = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
const api = createApi(controlPlane.url, testBearers);
const wire = openWire(controlPlane.url);
afterAll(async () => {
  wire.close();
  await Promise.all([controlPlane.stop(), owner.end()]);
  await Promise.all([redis?.stop(), database.drop()]);
});
await prepare(api);
await insertSignIn(owner);
await insertSink(owner);
const { operations, faults } = readDocument((await api.call("GET", "/openapi.json")).body);
const digest = await databaseDigests(owner, ofItself);
/** Tables that a refused request may write; all others must stay unchanged. */
const recordedRefusals: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // The report of a refused first registration is kept (docs/reference/manifest.md#statuses).
  "POST /v1/agents": {
    "409 needs_review": ["reconciliation_report", "administrative_event"],
    "422 reconciliation_rejected": ["reconciliation_report", "administrative_event"],
  },
  // Every submission of a registered agent appends a version (docs/reference/manifest.md#the-document).
  "POST /v1/manifests": {
    "409 needs_review": ["reconciliation_report", "administrative_event", "manifest_version", "manifest_scope"],
    "422 reconciliation_rejected": [
      "reconciliation_report",
      "administrative_event",
      "manifest_version",
      "manifest_scope",
    ],
  },
  // A fresh deny is recorded; a request that raises taint marks the caller (docs/reference/decision.md#effective-taint).
  "POST /v1/token/exchange": { "403 invalid_target": ["decision", "taint_mark", "session_state"] },
  "POST /v1/token/transaction": { "403 mint_refused": ["decision"] },
  // Three tries (docs/reference/identity.md#enrollment).
  "POST /v1/identity/enrollments/{enrollment_id}/complete": { "400 invalid_proof": ["enrollment"] },
};

/** Text that occurs only in a stack trace, a statement or a driver's message. */
const innards = /node_modules|\.ts:\d|at \w+ \(|select |insert into|PostgresError|ECONN|\bstack\b/;

/** No refusal may contain a credential. */
const secretsOf = ({ headers, body = "" }: WireRequest): readonly string[] => [
  ...Object.values(headers).flatMap((value) => String(value).match(/[\w.~+/-]{24,}/g) ?? []),
  ...(body.match(/ey[\w-]{20,}\.[\w-]+\.[\w-]+/g) ?? []),
];

function faultsOf(operation: Operation, request: WireRequest, answer: Answer): readonly string[] {
  if (answer.status < 400) return faults(operation, answer);
  const refusal = `${answer.status} ${refusalCode(answer)}`;
  // An empty segment or dots would select another route, or none.
  const isElsewhere = /\/(\.{0,2}|%2e%2e)(\/|\?|$)/i.test(request.target) && /^40[45] /.test(refusal);
  return [
    ...(isElsewhere ? [] : faults(operation, answer)),
    ...(isElsewhere || operation.refusals.includes(refusal) ? [] : [`${refusal} is not documented`]),
    ...(answer.status >= 500 ? [`${answer.status} is a server fault`] : []),
    ...(innards.test(answer.text) ? ["it reveals internals"] : []),
    ...(secretsOf(request).some((secret) => answer.text.includes(secret)) ? ["it repeats a credential"] : []),
  ];
}

/** Replaces the token or session once a call has used it. */
function supply(operation: Operation): (index: number, isUsedUp: boolean) => Promise<Base> {
  const makers = basesOf(operation);
  const made = new Map<number, Base>();
  return async (index, isUsedUp) => {
    const at = index % makers.length;
    const known = isUsedUp ? undefined : made.get(at);
    const base = known ?? (await makers[at]?.(api, database));
    if (base === undefined) throw new Error(`there is no base of ${operation.name}`);
    made.set(at, base);
    return base;
  };
}

const runs = 25;
/** Each operation has its own attacks, the same in every run. */
const seedOf = (operation: Operation): number => 20_261_128 + operations.indexOf(operation);

describe.each(inOrder(operations))("$name", (operation) => {
  test("refuses malformed requests as documented, writes nothing and repeats no credential", async () => {
    const baseOf = supply(operation);
    let isUsedUp = false;
    await fc.assert(
      fc.asyncProperty(attacks, async (attack) => {
        const base = await baseOf(attack.base, isUsedUp);
        const request = aim(operation, base, attack, testBearers);
        const before = await digest();
        const answer = await wire.send(request);
        const changed = changedTables(before, await digest());
        const refusal = `${answer.status} ${refusalCode(answer)}`;
        isUsedUp = answer.status < 300 || changed.length > 0;
        expect(faultsOf(operation, request, answer)).toEqual([]);
        const mayChange = recordedRefusals[operation.name]?.[refusal] ?? [];
        const isWrite = operation.method !== "GET" && answer.status < 300;
        expect(isWrite ? [] : changed.filter((table) => !mayChange.includes(table))).toEqual([]);
      }),
      { numRuns: runs, seed: seedOf(operation) },
    );
  });
});

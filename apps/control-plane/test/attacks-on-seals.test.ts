import { perSource, readSeal, signSeal } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import { uuidv7 } from "uuidv7";
import { describe, expect, test, vi } from "vitest";
import { AuthorityUnproven } from "../src/ports/manifests.ts";
import { poolOf, type Sql, type Transaction } from "../src/postgres/database.ts";
import { openSubmission } from "../src/postgres/manifest-submission.ts";
import { namesOnRecord } from "../src/postgres/names-on-record.ts";
import { policyStore } from "../src/postgres/policies.ts";
import { type Attack, attackedRecord, expectOutcome, roles, type Step, sealNext, unprotected } from "./attacks.ts";
import { aKey, marks } from "./sealing.ts";

/** Attacks on what the service continues from and acts on: seals, policies, manifests and names. */
const record = await attackedRecord();
const { old, key } = record;
const { unsealed } = record.actions;
const { batch: last, statement: lastStatement } = record.newest;
const stranger = await aKey();

/** The chain from `batch` on, made again by a key that the attacker has. */
const resealedBy =
  (by: SigningKey): Step =>
  async (tx) => {
    for (const statement of unprotected("seal", `delete from seal where batch >= ${last}`)) await tx.unsafe(statement);
    await sealNext(by)(tx);
  };
const sealRow = (batch: string, statement: string): Step =>
  `insert into seal (batch, statement, entries) values (${batch}, ${statement}, '')`;
/** Well-formed and chained, by a key of the attacker's. */
const aForgedSeal: Step = async (tx) => {
  const ranges = readSeal(lastStatement)?.seal.ranges;
  const { statement } = await signSeal({
    key: stranger,
    batch: last + 1,
    previous: lastStatement,
    sealedAtMs: Date.now(),
    ranges: perSource((source) => ({ after: ranges?.[source].through ?? null, through: uuidv7() })),
    entries: [],
    isNewKey: true,
  });
  await tx`insert into seal (batch, statement, entries) values (${last + 1}, ${statement}, '')`;
};

/** Copies of what is there, for another tool, with the mark of the original. */
const forgedPolicy = `insert into compiled_policy (scope, version, schema_version, document, created_at, mac)
  select scope, 2, schema_version, replace(document, 'mcp:ledger/read', 'mcp:ledger/pay'), now(), mac
  from compiled_policy`;
const forgedManifest = `insert into manifest_version (agent_id, version, status, attested_by, doc, created_at, mac)
  select agent_id, 2, status, attested_by, replace(doc, 'mcp:ledger/read', 'mcp:ledger/pay'), now(), mac
  from manifest_version`;
const policyUnused = {
  async unused(tx: Transaction) {
    const policies = policyStore(poolOf(tx as unknown as Sql, 5_000), marks, () => {});
    await expect(policies.pinned("expenses", 2)).rejects.toThrow(AuthorityUnproven);
  },
};
const manifestUnused = {
  async unused(tx: Transaction) {
    const { acceptedManifests } = await openSubmission(tx, "planner", marks, () => {});
    await expect(acceptedManifests(["expenses"])).rejects.toThrow(AuthorityUnproven);
  },
};
/** Names on record stay as they were accepted, but for what needs a person now; and the row is reported. */
const nameUnused = (unproven: readonly string[]) => ({
  async unused(tx: Transaction) {
    const onUnproven = vi.fn<(fault: AuthorityUnproven) => void>();
    expect(await namesOnRecord(tx, ["mcp:ledger/read"], { marks, onUnproven })).toMatchObject({
      origins: [],
      facts: [{ privileged: false, access: "read" }],
      unproven,
    });
    expect(onUnproven.mock.calls).toEqual([[expect.any(AuthorityUnproven)]]);
  },
});

const attacks: readonly Attack[] = [
  {
    name: "insert a seal that is none",
    steps: [sealRow(`${last + 1}`, "'x.y.z'"), sealNext(key)],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a seal of a number that none can follow",
    steps: [sealRow("9223372036854775807", "'x.y.z'"), sealNext(key)],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a copy of a seal",
    steps: [sealRow("1000", `'${lastStatement}'`), sealNext(key)],
    service: ["seal_unreadable"],
    owner: ["seal_unreadable"],
  },
  {
    name: "insert a seal by a key of the attacker's, which hides later rows",
    steps: [aForgedSeal, sealNext(key)],
    service: ["row_inserted", "seal_stray"],
    owner: ["row_inserted", "seal_stray"],
  },
  {
    name: "remove the newest seals",
    steps: unprotected("seal", `delete from seal where batch >= ${last}`),
    service: "refused",
    owner: { outOfReach: "only a seal that was kept elsewhere shows it" },
  },
  {
    name: "remove the newest seals, of which the auditor kept one",
    steps: unprotected("seal", `delete from seal where batch >= ${last}`),
    service: "refused",
    owner: ["head_missing"],
    keepsHeads: true,
  },
  {
    name: "rewrite the end of the record, and seal it with an old key",
    steps: [...unprotected("mint", `delete from mint where action_id = '${unsealed}'`), resealedBy(old)],
    service: "refused",
    owner: ["not_vouched"],
  },
  {
    name: "rewrite the end of the record, and seal it with a published key",
    steps: [resealedBy(key)],
    service: "refused",
    owner: { outOfReach: "the signing key can make the record and its seals anew" },
  },
  {
    name: "insert a policy that lends another tool",
    steps: [forgedPolicy],
    service: policyUnused,
    owner: policyUnused,
  },
  {
    name: "insert a manifest that declares another tool",
    steps: [forgedManifest],
    service: manifestUnused,
    owner: manifestUnused,
  },
  {
    name: "insert an owner of a server's name",
    steps: ["insert into server_origin (name, origin, accepted_at) values ('mcp:ledger', 'https://evil.test', now())"],
    service: nameUnused(["mcp:ledger"]),
    owner: nameUnused(["mcp:ledger"]),
  },
  {
    name: "insert how a tool was accepted",
    steps: [
      `insert into tool_fact (ref, privileged, access, accepted_at, revision, mac)
        select ref, true, 'write', now(), 2, mac from tool_fact`,
    ],
    service: nameUnused([]),
    owner: nameUnused([]),
  },
  {
    name: "insert a policy, and list it as one from before there were marks",
    steps: [
      forgedPolicy,
      `insert into unmarked select 'policy', scope, version,
        rtrim(translate(encode(sha256(convert_to(document, 'UTF8')), 'base64'), '+/', '-_'), '=')
        from compiled_policy where version = 2`,
    ],
    service: "refused",
    owner: { outOfReach: "The owner can list a forged row as one of before" },
  },
];

describe("the record after an attack", () => {
  describe.each(roles)("by the %s", (role) => {
    test.each(attacks)("to $name", (attack) => expectOutcome(record, role, attack));
  });
});

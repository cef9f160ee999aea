import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aggregateTrace, checkDrift, type Edge, type ExpectedDenial, traceRecorder } from "../src/index.ts";
import { aDelegation, aFolder, anEdge, manifests } from "./support/edges.ts";

const mail: ExpectedDenial = { scope: "expenses", caller: "planner", target: "http:mail/send" };
const denied = anEdge({ target: "http:mail/send", dataClass: "mail", outcome: "deny" });

async function checked(expectedDenials: readonly ExpectedDenial[], ...edges: Edge[]) {
  const file = join(aFolder(), "trace.jsonl");
  const recorder = traceRecorder(file);
  for (const edge of edges) recorder.record(edge);
  await recorder.close();
  return checkDrift(aggregateTrace(file), manifests, { expectedDenials });
}

describe("a deny that a test expects is no drift", () => {
  const ofHuman = { ...denied, chain: [], caller: "ada", hop: 1 };
  test.each<[string, ExpectedDenial, Edge]>([
    ["of any data class", mail, denied],
    ["of its data class", { ...mail, dataClass: "mail" }, denied],
    ["for its reason", { ...mail, reason: "TARGET_NOT_DECLARED" }, denied],
    ["of the human", { ...mail, caller: null }, ofHuman],
  ])("%s", async (_, expected, edge) => {
    const report = await checked([expected], aDelegation(), edge);
    expect(report).toMatchObject({ result: "pass", undeclared: [], errors: [], summary: { expectedDenials: 1 } });
    expect(report.expectedDenials).toMatchObject([{ reason: "TARGET_NOT_DECLARED", edge: { target: mail.target } }]);
  });

  test("only where every call of the edge was denied", async () => {
    const report = await checked([mail], aDelegation(), denied, { ...denied, outcome: "allow" });
    expect(report).toMatchObject({ result: "drift", undeclared: [{}], expectedDenials: [], errors: [] });
  });

  test.each<[string, ExpectedDenial]>([
    ["for another reason", { ...mail, reason: "TAINT_BLOCKED" }],
    ["of another data class", { ...mail, dataClass: "mail.drafts" }],
    ["of another caller", { ...mail, caller: "clerk" }],
    ["of the human", { ...mail, caller: null }],
    ["in another scope", { ...mail, scope: "travel" }],
    ["of another target", { ...mail, target: "http:mail/sen" }],
  ])("not where the expected deny is %s", async (_, expected) => {
    const report = await checked([expected], aDelegation(), denied);
    expect(report).toMatchObject({ undeclared: [{ edge: { target: mail.target } }], expectedDenials: [] });
    expect(report.result).not.toBe("pass");
  });
});

describe("an expected deny that no run shows is an error", () => {
  const reading: ExpectedDenial = { scope: "expenses", caller: "planner", target: "http:ledger/read" };
  test.each<[string, readonly ExpectedDenial[], Edge[], string, string]>([
    ["its test did not run", [mail], [], "expected_denial_unmet", "no such call was recorded"],
    ["the manifests admit the call", [reading], [anEdge({ outcome: "deny" })], "expected_denial_admitted", "admit it"],
    [
      "the deny has another reason, which another entry expects",
      [
        { ...mail, reason: "TAINT_BLOCKED" },
        { ...mail, reason: "TARGET_NOT_DECLARED" },
      ],
      [denied],
      "expected_denial_unmet",
      "its reason is TARGET_NOT_DECLARED",
    ],
  ])("%s", async (_, expected, edges, kind, message) => {
    const report = await checked(
      expected.map((one) => ({ ...one, file: "denied.yaml" })),
      aDelegation(),
      ...edges,
    );
    expect(report).toMatchObject({ result: "error", errors: [{ kind, file: "denied.yaml" }] });
    expect(report.errors[0]?.message).toContain(message);
  });

  test("but not a call that is admitted in one session and denied in another", async () => {
    const post: ExpectedDenial = { scope: "expenses", caller: "planner", target: "http:ledger/post" };
    const posted = anEdge({ target: "http:ledger/post" });
    const tainted = { ...posted, taint: "untrusted_external", outcome: "deny" } as const;
    expect(await checked([post], aDelegation(), posted, tainted)).toMatchObject({ result: "pass" });
  });
});

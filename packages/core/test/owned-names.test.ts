import { describe, expect, test } from "vitest";
import { heldAgainstRecord, type NamesOnRecord, serverName, toRecord } from "../src/owned-names.ts";
import { reconcile, type SourceAnswer } from "../src/reconcile.ts";
import { declaring, isSilent, ledger, post, posting, posts } from "./reconciliations.ts";

const stranger = { kind: "mcp", name: "ledger", url: "https://elsewhere.test/mcp" } as const;
const strangersList = { kind: "http", url: "https://elsewhere.test/list" } as const;

const record: NamesOnRecord = {
  origins: [{ name: "mcp:ledger", origin: "https://ledger.internal" }],
  facts: [{ ref: post, privileged: true, access: "write" }],
  unproven: [],
};
const empty: NamesOnRecord = { origins: [], facts: [], unproven: [] };
const strict = { privileged: true, access: "write" } as const;

const held = (
  manifest: ReturnType<typeof posting>,
  answers: readonly SourceAnswer[],
  { overridden = false, previous = undefined as typeof manifest | undefined, on = record } = {},
) => {
  const outcome = reconcile(manifest, answers, overridden);
  const { status, diff } = heldAgainstRecord(outcome, manifest, answers, { previous, record: on, overridden });
  return { status, diff: diff.map(({ ref, kind, field, discovered }) => [ref, kind, field, discovered]) };
};

test.each([
  ["mcp:ledger/post", "mcp:ledger"],
  ["mcp:ledger#resources/read", "mcp:ledger"],
  ["http:bank/entries/read", "http:bank"],
  ["a2a:auditor/audit", "a2a:auditor"],
  ["plain-name", undefined],
  ["a/b", undefined],
])("%s names the server %s", (ref, server) => {
  expect(serverName(ref)).toBe(server);
});

describe("the name of a server", () => {
  const origin = ["mcp:ledger", "undiscovered", "discovery", "https://ledger.internal"];

  test("belongs to the origin that was accepted first", () => {
    expect(held(posting(strict), [posts(ledger, strict)])).toEqual({ status: "reconciled", diff: [] });
  });

  test.each([
    ["that calls itself so", stranger],
    ["that lists a tool of it", strangersList],
  ])("needs a person for another origin %s", (_name, source) => {
    expect(held(posting(strict), [posts(source, strict)])).toEqual({ status: "needs_review", diff: [origin] });
    expect(held(posting(strict), [posts(source, strict)], { overridden: true })).toEqual({
      status: "attested",
      diff: [origin],
    });
  });

  test("is not shared with an origin that answers beside the owner", () => {
    const answers = [posts(ledger, strict), posts(strangersList, strict)];
    expect(held(posting(strict), answers).status).toBe("needs_review");
  });

  test("is free until an origin was accepted", () => {
    expect(held(posting(strict), [posts(stranger, strict)], { on: empty }).status).toBe("reconciled");
  });

  test("needs a person where only unproven rows name its owner", () => {
    const on = { ...empty, unproven: ["mcp:ledger"] };
    const diff = [["mcp:ledger", "undiscovered", "discovery", ""]];
    expect(held(posting(strict), [posts(ledger, strict)], { on })).toEqual({ status: "needs_review", diff });
    expect(held(posting(strict), [posts(ledger, strict)], { on, overridden: true }).status).toBe("attested");
  });

  test("is not needed for what an agent does not declare", () => {
    expect(held(declaring({}), [posts(stranger)]).status).toBe("reconciled");
  });
});

describe("a tool on record", () => {
  test.each([
    [{ access: "write" }, "privileged", true],
    [{ privileged: true }, "access", "write"],
  ])("needs a person to become weaker: %j", (members, field, discovered) => {
    const weaker = { status: "needs_review", diff: [[post, "undiscovered", field, discovered]] };
    expect(held(posting(members), [posts(ledger)])).toEqual(weaker);
    expect(held(posting(members), [posts(ledger)], { overridden: true })).toEqual({ ...weaker, status: "attested" });
  });

  test("may be declared again as it is in force for the same agent", () => {
    expect(held(posting(), [posts(ledger)], { previous: posting() }).status).toBe("reconciled");
  });

  test("counts as strict where only unproven rows say how it was accepted", () => {
    const on = { ...empty, unproven: [post] };
    const weaker = [[post, "undiscovered", "privileged", true]];
    expect(held(posting(), [posts(ledger)], { on })).toEqual({ status: "needs_review", diff: weaker });
    expect(held(posting(strict), [posts(ledger, strict)], { on }).status).toBe("reconciled");
    const facts = [{ ref: post, ...strict }];
    expect(toRecord({ status: "reconciled" }, posting(), [posts(ledger)], on).facts).toEqual(facts);
  });

  test("does not excuse a contradiction", () => {
    const answers = [posts(ledger, { privileged: true })];
    expect(held(posting(), answers, { overridden: true })).toEqual({
      status: "rejected",
      diff: [[post, "conflicts", "privileged", true]],
    });
  });

  test("takes the place of the entry on its silent source", () => {
    expect(held(posting(), [isSilent(ledger)]).diff).toEqual([[post, "undiscovered", "privileged", true]]);
  });
});

describe("the record after a manifest", () => {
  const added = (status: "reconciled" | "attested", members: object) =>
    toRecord({ status }, posting(members), [posts(ledger)], record).facts;

  test("that was reconciled is never weaker", () => {
    expect(added("reconciled", {})).toEqual(record.facts);
  });

  test("that a person attested is what it declares", () => {
    expect(added("attested", {})).toEqual([{ ref: post, privileged: false, access: "read" }]);
  });

  test("has the strictest declaration of several scopes, and the origins that answered", () => {
    const on = toRecord({ status: "reconciled" }, posting({ privileged: true }), [posts(stranger)], {
      ...empty,
      facts: [{ ref: post, privileged: false, access: "write" }],
    });
    expect(on).toEqual({
      origins: [{ name: "mcp:ledger", origin: "https://elsewhere.test" }],
      facts: [{ ref: post, privileged: true, access: "write" }],
    });
  });
});

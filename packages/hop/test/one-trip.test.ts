import type { HopAnswer } from "@svc/core";
import { describe, expect, test } from "vitest";
import { TransportFault, takeHop } from "../src/index.ts";
import { type ScriptedLine, takeOnce } from "./support/one-trip.ts";
import {
  accessToken,
  allow,
  call,
  deny,
  granted,
  hop,
  scriptedPorts,
  sibling,
  success,
  transactionToken,
} from "./support/scripted-hop.ts";
import { actionId } from "./support/tokens.ts";

const open = { ...allow, privileged: false, transaction_required: false };
const decided = (body: object = open) => ({ status: 200, body: { ...body } });
const exchanged = { status: 200, body: { ...granted, access_token: accessToken } };
const next = { token: "the next one", expiresIn: 60 };
const answer = {
  line: 0,
  authorize: decided(),
  exchange: exchanged,
  sibling: next,
  stages: { decide: 2, exchange: 1 },
};
const refused = (status: number, code: string, retryAfter?: string) => ({
  status,
  body: { error: { code, message: "refused" } },
  ...(retryAfter !== undefined && { retryAfter }),
});
const oauth = (status: number, error: string) => ({ status, body: { error, error_description: "refused" } });

test("a settled call asks once, and its token is replaced by the one that came back", async () => {
  const { result, log, stages, replaced, lines } = await takeOnce(answer);
  expect(result).toMatchObject({ kind: "taken", decision: { actionId }, token: { accessToken } });
  expect(log).toEqual(["lease", "body"]);
  expect(stages).toEqual(["decide", "exchange"]);
  expect(replaced).toEqual([{ token: next.token, expiresInSeconds: 60 }]);
  expect(lines).toMatchObject([{ ...call, bodySettled: true, enforced: true }]);
});

test("parameters are bound also where the token came in one trip", async () => {
  const { result, log } = await takeOnce(answer, { paramsJson: "{}" });
  expect(log).toEqual(["lease", "body", "mint"]);
  expect(result).toMatchObject({ kind: "taken", transactionToken });
});

test("a line has a proof of the agent's key, made for its own token", async () => {
  const lines: unknown[] = [];
  const { ports } = scriptedPorts(success);
  const take = async (line: unknown) => {
    lines.push(line);
    return answer;
  };
  const prover = { prove: (token: string) => `a proof for ${token}` };
  const offer = { holds: () => true, withdrawn: () => {} };
  await takeHop({ ...ports, steps: { ...ports.steps, prover }, lines: { offer, hops: { take } } }, hop, async () => ({
    kind: "ready",
  }));
  expect(lines).toMatchObject([{ token: sibling, actorToken: `a proof for ${sibling}` }]);
});

describe("a body that is not settled", () => {
  test("is said to be open, and is read between the decision alone and its exchange", async () => {
    const { log, lines } = await takeOnce({ line: 0, authorize: decided() }, { change: { bodySettled: false } });
    expect(lines).toMatchObject([{ bodySettled: false }]);
    expect(log).toEqual(["lease", "body", "exchange"]);
  });

  test.each<[string, HopAnswer, string]>([
    ["after the decision alone leaves the token", { line: 0, authorize: decided() }, "given back"],
    ["after a spent one changes nothing of it", answer, "replaced"],
  ])("and is refused %s", async (_name, scripted, end) => {
    const taken = await takeOnce(scripted, { refusal: "too large", change: { bodySettled: false } });
    expect(taken.result).toMatchObject({ kind: "body_refused", refusal: "too large" });
    expect([taken.log, taken.end]).toEqual([["lease", "body"], end]);
  });
});

test("a privileged call is exchanged and minted after its decision", async () => {
  const { result, log, end } = await takeOnce({ line: 0, authorize: decided(allow) }, { paramsJson: "{}" });
  expect(result).toMatchObject({ kind: "taken", transactionToken });
  expect([log, end]).toEqual([["lease", "body", "exchange", "mint"], "spent"]);
});

describe("the public endpoints serve", () => {
  const both = ["lease", "decide", "body", "exchange"];
  test("where one trip is not offered", async () => {
    const { log, lines } = await takeOnce(answer, { isOffered: false });
    expect([log, lines]).toEqual([both, []]);
  });

  test("where the token is not to be spent", async () => {
    const { log, lines } = await takeOnce(answer, { maySpend: false });
    expect([log, lines]).toEqual([["lease", "decide", "body", "lease to spend", "exchange"], []]);
  });

  test("where the route is gone, which is remembered", async () => {
    const { log, isWithdrawn } = await takeOnce({ line: 0, authorize: refused(404, "route_not_found") });
    expect([log, isWithdrawn]).toEqual([both, true]);
  });

  test("for the exchange, where the decision alone came back", async () => {
    const { log, result, end } = await takeOnce({ line: 0, authorize: decided() });
    expect([log, result.kind, end]).toEqual([["lease", "body", "exchange"], "taken", "spent"]);
  });
});

/** Whether the token may be used again is the guarantee: a spent one never, an unspent one not lost. */
describe("any other answer ends the hop, and", () => {
  test.each<[string, ScriptedLine, object, string]>([
    [
      "a deny leaves the token",
      { line: 0, authorize: decided(deny) },
      { kind: "denied", step: "decide" },
      "given back",
    ],
    [
      "a token that does not verify is of no further use",
      { line: 0, authorize: refused(401, "unauthorized") },
      { kind: "unauthorized", step: "decide" },
      "rejected",
    ],
    [
      "a rate leaves the token",
      { line: 0, authorize: refused(429, "rate_limited", "7") },
      { kind: "unusable", step: "decide", response: { status: 429, retryAfter: "7" } },
      "given back",
    ],
    [
      "an unknown commit counts as spent",
      { line: 0, authorize: refused(503, "audit_unavailable", "1") },
      { kind: "audit_unavailable", step: "decide" },
      "spent",
    ],
    [
      "a fault of a store counts as spent",
      { line: 0, authorize: refused(503, "database_unavailable") },
      { kind: "unusable", step: "exchange", path: "/v1/hops" },
      "spent",
    ],
    [
      "a spent token is not used again",
      { line: 0, authorize: decided(), exchange: oauth(400, "invalid_grant") },
      { kind: "unauthorized", step: "exchange" },
      "spent",
    ],
    [
      "a refused proof leaves the token",
      { line: 0, authorize: decided(), exchange: oauth(400, "invalid_request") },
      { kind: "unauthorized", step: "exchange" },
      "given back",
    ],
    [
      "an undecided single use counts as spent",
      { line: 0, authorize: decided(), exchange: oauth(503, "invalid_grant") },
      { kind: "unusable", step: "exchange" },
      "spent",
    ],
    ["an answer without anything counts as spent", { line: 0 }, { kind: "unusable", fault: "malformed" }, "spent"],
    [
      "an answer to another call counts as spent",
      { ...answer, authorize: decided({ ...open, target: "http:elsewhere/read" }) },
      { kind: "unusable", fault: "mismatch" },
      "spent",
    ],
    [
      "a token of another hop is not used",
      { ...answer, authorize: decided({ ...open, action_id: "another" }) },
      { kind: "unusable", fault: "mismatch", step: "exchange" },
      "spent",
    ],
    [
      "a deny with a token is not used",
      { ...answer, authorize: decided(deny) },
      { kind: "unusable", fault: "malformed" },
      "spent",
    ],
    [
      "no next token is no answer",
      { line: 0, authorize: decided(), exchange: exchanged },
      { kind: "unusable", fault: "malformed" },
      "spent",
    ],
    ["nothing was sent", new TransportFault("refused"), { kind: "unusable", fault: "refused" }, "given back"],
    [
      "a cut counts as spent",
      new TransportFault("unreachable"),
      { kind: "unusable", fault: "unreachable", step: "exchange" },
      "spent",
    ],
    ["a silence counts as spent", new TransportFault("timeout"), { kind: "unusable", fault: "timeout" }, "spent"],
    [
      "an agent that left in time leaves the token",
      new TransportFault("aborted", { isUnsent: true }),
      { kind: "unusable", fault: "aborted" },
      "given back",
    ],
  ])("%s", async (_name, scripted, result, end) => {
    const taken = await takeOnce(scripted);
    expect(taken.result).toMatchObject(result);
    expect(taken.end).toBe(end);
    expect(taken.log).not.toContain("exchange");
  });
});

test("a refused connect is tried once more", async () => {
  const { lines } = await takeOnce(new TransportFault("refused"));
  expect(lines).toHaveLength(2);
});

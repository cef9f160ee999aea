import { describe, expect, test } from "vitest";
import {
  decideAgain,
  type Hop,
  type HopPorts,
  poolFaults,
  type Stage,
  type TransportRequest,
  takeHop,
} from "../src/index.ts";
import {
  accessToken,
  allow,
  call,
  deny,
  granted,
  hop,
  minted,
  type Script,
  scriptedPorts,
  sibling,
  success,
  take,
  transactionToken,
} from "./support/scripted-hop.ts";
import { oauthRefusal, refusal, type Scripted } from "./support/scripted-transport.ts";
import { actionId } from "./support/tokens.ts";

describe("a successful hop", () => {
  test("a privileged call: lease, decide, body, exchange, mint, in this order", async () => {
    const { result, log, givenBack } = await take(success);
    expect(result).toMatchObject({ kind: "taken", decision: { actionId }, token: { accessToken }, transactionToken });
    expect(log).toEqual(["lease", "decide", "body", "exchange", "mint"]);
    expect(givenBack).toBe(0);
  });

  test("without parameters to bind nothing is minted", async () => {
    const { result, log } = await take({ ...success, body: { kind: "ready" } });
    expect(result).toMatchObject({ kind: "taken", token: { accessToken } });
    expect(result).not.toHaveProperty("transactionToken");
    expect(log).not.toContain("mint");
  });

  test("the leased token decides and is exchanged, the narrowed token mints", async () => {
    const { sent } = await take(success);
    const [decided, exchanged, bound] = sent;
    expect(decided?.headers.authorization).toBe(`Bearer ${sibling}`);
    expect(new URLSearchParams(exchanged?.body).get("subject_token")).toBe(sibling);
    expect(bound?.headers.authorization).toBe(`Bearer ${accessToken}`);
  });

  test("the identity assertion is for the narrowed token and the target", async () => {
    const { result } = await take(success, { assertIdentity: async (token, target) => `${token} ${target}` });
    expect(result).toMatchObject({ identityAssertion: `${accessToken} ${call.target}` });
  });
});

/** Of a deny that the exchange or the mint records. */
const recordedDeny = "0197a000-0000-7000-8000-00000000000d";
const denied = (denyReason: string | null) => ({
  outcome: "deny",
  denyReason,
  recoverable: false,
  target: call.target,
});

const given = 1;
const spent = 0;

describe("every other result of a step, and whether the lease was given back", () => {
  test.each<[name: string, change: Partial<Script>, want: object, givenBack: number]>([
    ["lease: unauthorized", { lease: { kind: "unauthorized" } }, { kind: "unauthorized", step: "lease" }, 0],
    ...poolFaults.map((fault): [string, Partial<Script>, object, number] => [
      `lease: ${fault}`,
      { lease: { kind: "unusable", fault } },
      { kind: "unusable", step: "lease", fault },
      0,
    ]),
    [
      "lease: the renewal's response was lost",
      { lease: { kind: "unusable", fault: "timeout" } },
      { kind: "unusable", step: "lease", fault: "timeout" },
      0,
    ],
    [
      "decide: deny",
      { decide: { status: 200, body: deny } },
      { kind: "denied", step: "decide", decision: { outcome: "deny", denyReason: "TAINT_BLOCKED", actionId } },
      given,
    ],
    ["decide: 401", { decide: refusal(401, "unauthorized") }, { kind: "unauthorized", step: "decide" }, spent],
    [
      "decide: 401 of another server",
      { decide: { status: 401, body: "<html>" } },
      { kind: "unauthorized", step: "decide" },
      given,
    ],
    [
      "decide: no proof that is accepted",
      { decide: refusal(400, "invalid_request", { issues: [{ path: "actor_token", message: "x" }] }) },
      { kind: "unauthorized", step: "decide" },
      given,
    ],
    [
      "decide: no committed record",
      { decide: refusal(503, "audit_unavailable") },
      { kind: "audit_unavailable", step: "decide" },
      given,
    ],
    ...(["refused", "unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `decide: ${fault}`,
        { decide: fault },
        { kind: "unusable", step: "decide", fault },
        given,
      ],
    ),
    ["decide: 500", { decide: refusal(500, "internal") }, { kind: "unusable", step: "decide", fault: "status" }, given],
    [
      "decide: HTML",
      { decide: { status: 200, body: "<html>" } },
      { kind: "unusable", step: "decide", fault: "malformed" },
      given,
    ],
    [
      "decide: a decision on another target",
      { decide: { status: 200, body: { ...allow, target: "http:ledger/other" } } },
      { kind: "unusable", step: "decide", fault: "mismatch" },
      given,
    ],
    [
      "body: refused",
      { body: { kind: "refused", refusal: "too large" } },
      { kind: "body_refused", refusal: "too large", decision: { actionId } },
      given,
    ],
    [
      "exchange: denied, with its reason and its own record",
      { exchange: oauthRefusal(403, "invalid_target", "AGENT_REVOKED", recordedDeny) },
      { kind: "denied", step: "exchange", decision: { ...denied("AGENT_REVOKED"), actionId: recordedDeny } },
      given,
    ],
    [
      "exchange: denied, without a reason and a record: never the allow's",
      { exchange: oauthRefusal(403, "invalid_target") },
      { kind: "denied", step: "exchange", decision: { ...denied(null), actionId: null } },
      given,
    ],
    [
      "exchange: token or allow spent",
      { exchange: oauthRefusal(400, "invalid_grant") },
      { kind: "unauthorized", step: "exchange", decision: { actionId } },
      spent,
    ],
    [
      "exchange: never sent",
      { exchange: "refused" },
      { kind: "unusable", step: "exchange", fault: "refused", decision: { actionId } },
      given,
    ],
    ...(["unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `exchange: ${fault}`,
        { exchange: fault },
        { kind: "unusable", step: "exchange", fault, decision: { actionId } },
        spent,
      ],
    ),
    [
      "exchange: 503",
      { exchange: oauthRefusal(503, "invalid_grant") },
      { kind: "unusable", step: "exchange", fault: "status", response: { status: 503 } },
      spent,
    ],
    [
      "exchange: no subject token or proof that is accepted",
      { exchange: oauthRefusal(400, "invalid_request") },
      { kind: "unauthorized", step: "exchange", decision: { actionId } },
      given,
    ],
    [
      "exchange: 400 otherwise",
      { exchange: oauthRefusal(400, "unsupported_grant_type") },
      { kind: "unusable", step: "exchange", fault: "status" },
      spent,
    ],
    [
      "exchange: too many calls",
      { exchange: oauthRefusal(429, "slow_down") },
      { kind: "unusable", step: "exchange", fault: "status", response: { status: 429 } },
      given,
    ],
    [
      "exchange: HTML",
      { exchange: { status: 200, body: "<html>" } },
      { kind: "unusable", step: "exchange", fault: "malformed" },
      spent,
    ],
    [
      "exchange: the leased token itself",
      { exchange: { status: 200, body: { ...granted, access_token: sibling } } },
      { kind: "unusable", step: "exchange", fault: "mismatch" },
      spent,
    ],
    [
      "mint: denied",
      { mint: refusal(403, "mint_refused", { deny_reason: "TAINT_BLOCKED", action_id: recordedDeny }) },
      {
        kind: "denied",
        step: "mint",
        decision: { ...denied("TAINT_BLOCKED"), actionId: recordedDeny, taint: "untrusted_external" },
      },
      spent,
    ],
    ["mint: 401", { mint: refusal(401, "unauthorized") }, { kind: "unauthorized", step: "mint" }, spent],
    [
      "mint: no proof that is accepted",
      { mint: refusal(400, "invalid_request", { issues: [{ path: "actor_token", message: "x" }] }) },
      { kind: "unauthorized", step: "mint", decision: { actionId } },
      spent,
    ],
    [
      "mint: minted before",
      { mint: refusal(409, "already_minted") },
      { kind: "unusable", step: "mint", fault: "status", response: { code: "already_minted" } },
      spent,
    ],
    ...(["refused", "unreachable", "timeout", "aborted", "too_large"] as const).map(
      (fault): [string, Partial<Script>, object, number] => [
        `mint: ${fault}`,
        { mint: fault },
        { kind: "unusable", step: "mint", fault, decision: { actionId } },
        spent,
      ],
    ),
    [
      "mint: a token of another action",
      { mint: { status: 200, body: { ...minted, action_id: "another" } } },
      { kind: "unusable", step: "mint", fault: "mismatch" },
      spent,
    ],
  ])("%s", async (_name, change, want, givenBack) => {
    const taken = await take({ ...success, ...change });
    expect(taken.result).toMatchObject(want);
    expect(taken.givenBack).toBe(givenBack);
    const last = "step" in taken.result ? taken.result.step : "body";
    expect(taken.log.at(-1)).toBe(last);
  });
});

describe("a token that is only read to decide", () => {
  const reading = { ...success, spend: "leased" } as const;

  test("is given back, and another is leased once the exchange is sure to follow", async () => {
    const { result, log, givenBack } = await take(reading);
    expect(result).toMatchObject({ kind: "taken", decision: { actionId } });
    expect(log).toEqual(["lease", "decide", "body", "lease to spend", "exchange", "mint"]);
    expect(givenBack).toBe(1);
  });

  test.each<[string, Partial<Script>]>([
    ["a deny", { decide: { status: 200, body: deny } }],
    ["an unanswered decision", { decide: "timeout" }],
    ["a decision without a record", { decide: refusal(503, "audit_unavailable") }],
    ["a refused body", { body: { kind: "refused", refusal: "too large" } }],
  ])("is given back after %s, and none is leased to spend", async (_name, change) => {
    const { log, givenBack } = await take({ ...reading, ...change });
    expect(log).not.toContain("lease to spend");
    expect(givenBack).toBe(1);
  });

  test("is rejected where the control plane does not verify it", async () => {
    const { rejected, givenBack } = await take({ ...reading, decide: refusal(401, "unauthorized") });
    expect([rejected, givenBack]).toEqual([1, 0]);
  });

  test("and none to spend: the allow is named with the failure", async () => {
    const { result } = await take({ ...reading, spend: { kind: "unusable", fault: "timeout" } });
    expect(result).toMatchObject({ kind: "unusable", step: "lease", fault: "timeout", decision: { actionId } });
  });
});

describe("an exchange that was never sent gives its token back", () => {
  const unsent = async (hopChange: Partial<Hop>, portsChange: (ports: HopPorts) => Partial<HopPorts>) => {
    const { ports, log, givenBack } = scriptedPorts(success);
    const result = takeHop({ ...ports, ...portsChange(ports) }, { ...hop, ...hopChange }, async () => success.body);
    return { result, log, givenBack };
  };

  test("where the agent disconnects while its body is settled", async () => {
    const { ports, log, givenBack } = scriptedPorts(success);
    const agent = new AbortController();
    const result = await takeHop(ports, { ...hop, signal: agent.signal }, async () => {
      agent.abort();
      return success.body;
    });
    expect(result).toMatchObject({ kind: "unusable", step: "exchange", fault: "aborted" });
    expect([givenBack(), log.includes("exchange")]).toEqual([1, false]);
  });

  test("where no time is left", async () => {
    const { result, log, givenBack } = await unsent({}, (ports) => {
      let now = 0;
      const transport = {
        send(request: TransportRequest) {
          now += 5_000;
          return ports.steps.transport.send(request);
        },
      };
      return { steps: { transport, monotonicMs: () => now } };
    });
    expect(await result).toMatchObject({ kind: "unusable", step: "exchange", fault: "timeout" });
    expect([givenBack(), log.includes("exchange")]).toEqual([1, false]);
  });

  test("where the actor proof cannot be signed", async () => {
    const prover = { prove: () => Promise.reject(new Error("no key")) };
    const { result, givenBack } = await unsent({}, ({ steps }) => ({ steps: { ...steps, prover } }));
    await expect(result).rejects.toThrow("no key");
    expect(givenBack()).toBe(1);
  });

  test("where settling the body throws", async () => {
    const { ports, givenBack } = scriptedPorts(success);
    await expect(takeHop(ports, hop, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(givenBack()).toBe(1);
  });
});

describe("time", () => {
  /** Runs a hop of which each request takes 400 ms, and settling the body 10 s. */
  async function deadlinesWithin(limits: HopPorts["limits"]) {
    let now = 0;
    const { ports, sent } = scriptedPorts(success, { limits });
    const transport: HopPorts["steps"]["transport"] = {
      async send(request) {
        const response = await ports.steps.transport.send(request);
        now += 400;
        return response;
      },
    };
    const stages: Stage[] = [];
    await takeHop(
      { ...ports, steps: { transport, monotonicMs: () => now } },
      { ...hop, onStage: (stage) => stages.push(stage) },
      async () => {
        now += 10_000;
        return success.body;
      },
    );
    return { deadlines: sent.map(({ deadlineMs }) => deadlineMs), stages };
  }

  test("each step has its own limit and the rest of the hop's limit, without the time of the body", async () => {
    expect((await deadlinesWithin({ stepMs: 1_000, hopMs: 1_500 })).deadlines).toEqual([1_000, 1_000, 700]);
  });

  test("no step is sent once no time is left", async () => {
    expect((await deadlinesWithin({ stepMs: 1_000, hopMs: 300 })).deadlines).toEqual([300]);
  });

  test("the duration of each step is reported", async () => {
    expect((await deadlinesWithin({ stepMs: 1_000, hopMs: 2_500 })).stages).toEqual(["decide", "exchange", "mint"]);
  });
});

describe("deciding again", () => {
  const again = async (decide: Scripted, more: Partial<Hop> = {}) => {
    const { ports, log, givenBack, sent } = scriptedPorts({ ...success, decide });
    return { result: await decideAgain(ports, { ...hop, ...more }), log, givenBack: givenBack(), sent };
  };

  test("an allow returns the token that was decided on; nothing is spent and no stage is reported", async () => {
    const stages: Stage[] = [];
    const { result, log, givenBack } = await again(success.decide, { onStage: (stage) => stages.push(stage) });
    expect(result).toEqual({ kind: "allowed", token: sibling });
    expect({ log, givenBack, stages }).toEqual({ log: ["lease", "decide"], givenBack: 1, stages: [] });
  });

  test.each<[string, Scripted, object, number]>([
    ["a deny", { status: 200, body: deny }, { kind: "denied", decision: { denyReason: "TAINT_BLOCKED" } }, given],
    ["a token that does not verify", refusal(401, "unauthorized"), { kind: "unauthorized" }, spent],
    ["no response", "timeout", { kind: "unusable", fault: "timeout" }, given],
  ])("%s is the same failure as of a first decision", async (_name, decide, want, givenBack) => {
    const decided = await again(decide);
    expect(decided.result).toMatchObject({ ...want, step: "decide" });
    expect(decided.givenBack).toBe(givenBack);
  });
});

import { describe, expect, test } from "vitest";
import { type Hop, type HopPorts, type Stage, type TransportRequest, takeHop } from "../src/index.ts";
import {
  accessToken,
  call,
  deny,
  hop,
  type Script,
  scriptedPorts,
  sibling,
  success,
  take,
  transactionToken,
} from "./support/scripted-hop.ts";
import { refusal } from "./support/scripted-transport.ts";
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

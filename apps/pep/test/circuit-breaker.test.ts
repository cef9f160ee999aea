import { type Transport, TransportFault, type TransportFaultCode, type TransportRequest } from "@svc/hop";
import { describe, expect, test } from "vitest";
import { breakingTransport } from "../src/decide/circuit-breaker.ts";

type Outcome = TransportFaultCode | "answers";

/** A transport under a clock that is set by hand; `outcome` is the end of each request. */
function setup() {
  const state = { nowMs: 0, outcome: "answers" as Outcome };
  const sent: string[] = [];
  const under: Transport = {
    async send({ path }) {
      sent.push(path);
      const { outcome } = state;
      if (outcome !== "answers") throw new TransportFault(outcome);
      return { status: 503, headers: {}, body: "" };
    },
  };
  const transport = breakingTransport(under, () => state.nowMs);
  const send = (path = "/v1/authorize") => {
    const request: TransportRequest = { method: "POST", path, headers: {}, deadlineMs: 1, maxResponseBytes: 1 };
    return transport.send(request).then(
      ({ status }) => status,
      ({ code }) => code,
    );
  };
  const times = async (count: number, path?: string) => {
    for (let time = 0; time < count; time++) await send(path);
  };
  return { state, sent, send, times };
}

describe("when the control plane does not respond", () => {
  test.each(["refused", "unreachable", "timeout"] as const)(
    "five times in a row (%s), no further request is sent",
    async (outcome) => {
      const { state, sent, send, times } = setup();
      state.outcome = outcome;
      await times(5);
      expect(await send()).toBe("refused");
      expect(sent).toHaveLength(5);
    },
  );

  test("one request a second tests the control plane, also while an earlier one still waits", async () => {
    const { state, sent, send, times } = setup();
    state.outcome = "timeout";
    await times(5);
    for (const nowMs of [999, 1_000, 1_001, 1_999, 2_000]) {
      state.nowMs = nowMs;
      await send();
    }
    expect(sent).toHaveLength(7);
  });

  test("after the first response, of any status, every call is sent again", async () => {
    const { state, send, times } = setup();
    state.outcome = "unreachable";
    await times(5);
    state.nowMs = 1_000;
    state.outcome = "answers";
    expect(await send()).toBe(503);
    expect(await send()).toBe(503);
  });

  test("a response resets the count", async () => {
    const { state, sent, times } = setup();
    for (const outcome of ["timeout", "answers", "timeout", "answers"] as const) {
      state.outcome = outcome;
      await times(4);
    }
    expect(sent).toHaveLength(16);
  });

  test.each(["aborted", "too_large"] as const)("%s does not count as a missing response", async (outcome) => {
    const { state, sent, times } = setup();
    state.outcome = outcome;
    await times(20);
    expect(sent).toHaveLength(20);
  });

  test("other endpoints are still called, and a query does not make another endpoint", async () => {
    const { state, sent, send, times } = setup();
    state.outcome = "timeout";
    await times(3, "/v1/session/targets?cursor=a");
    await times(2, "/v1/session/targets?cursor=b");
    expect(await send("/v1/session/targets?cursor=c")).toBe("refused");
    expect(await send("/v1/token/exchange")).toBe("timeout");
    expect(sent).toHaveLength(6);
  });
});

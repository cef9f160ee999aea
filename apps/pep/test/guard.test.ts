import { type RenewalPool, type Transport, TransportFault, type TransportFaultCode } from "@svc/hop";
import { expect, test } from "vitest";
import { guard, type Hop } from "../src/guard.ts";

const call = { target: "http:ledger/read", targetKind: "tool", dataClass: "finance" } as const;
const allow = {
  ...{ action_id: "a", decision: "allow", deny_reason: null, recoverable: false, enforced: true, hop: 1 },
  ...{ acting_agent: "ada", target: call.target, target_kind: "tool", data_class: "finance", privileged: false },
  ...{ transaction_required: false, taint: "trusted_internal", taint_source: null, policy_version: 1 },
  ...{ guarantee_level: "full", decided_at: "2026-01-01T00:00:00.000Z" },
};

/** One call whose decision is an allow and whose exchange ends in this fault; answers whether its token came back. */
async function tokenAfter(code: TransportFaultCode) {
  let givenBack = 0;
  const pool: RenewalPool = {
    lease: async () => ({
      kind: "leased",
      lease: {
        token: "sibling",
        giveBack: () => {
          givenBack += 1;
        },
      },
    }),
    size: 1,
    close: async () => {},
  };
  const transport: Transport = {
    async send({ path }) {
      if (path !== "/v1/authorize") throw new TransportFault(code);
      return { status: 200, headers: {}, body: JSON.stringify(allow) };
    },
  };
  const ports = { steps: { transport, monotonicMs: () => 0 }, pool, limits: { stepMs: 1_000, hopMs: 2_500 } };
  const credential = { sessionId: "s", token: "presented" };
  const hop: Hop = { credential, call, enforced: true, signal: new AbortController().signal, trace: {} };
  const verdict = await guard(ports, hop, async () => ({ kind: "ready" }));
  return { verdict: verdict.kind === "refused" ? verdict.refusal.cause : verdict.kind, givenBack };
}

test.each<[TransportFaultCode, string, number]>([
  ["refused", "exchange_unreachable", 1],
  ["unreachable", "exchange_unreachable", 0],
  ["timeout", "exchange_unreachable", 0],
  ["too_large", "exchange_unreachable", 0],
  ["aborted", "gone", 0],
])(
  "after an exchange that was %s the call is %s, and its token comes back only where nothing was sent",
  async (code, verdict, givenBack) => {
    expect(await tokenAfter(code)).toEqual({ verdict, givenBack });
  },
);

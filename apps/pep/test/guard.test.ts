import { type RenewalPool, type Transport, TransportFault, type TransportFaultCode } from "@svc/client/steps";
import { expect, test } from "vitest";
import { type GuardPorts, guard, type Hop } from "../src/guard.ts";

const call = { target: "http:ledger/read", targetKind: "tool", dataClass: "finance" } as const;
const allow = {
  ...{ action_id: "a", decision: "allow", deny_reason: null, recoverable: false, enforced: true, hop: 1 },
  ...{ acting_agent: "ada", target: call.target, target_kind: "tool", data_class: "finance", privileged: false },
  ...{ transaction_required: false, taint: "trusted_internal", taint_source: null, policy_version: 1 },
  ...{ guarantee_level: "full", decided_at: "2026-01-01T00:00:00.000Z" },
};

const oneTrip = { isWorthAsking: () => true, unserved: () => {} };

/** One call before this transport; answers what became of it and whether its token came back. */
async function tokenBefore(transport: Transport, more: Partial<GuardPorts> = {}) {
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
  const ports = { steps: { transport, monotonicMs: () => 0 }, pool, limits: { stepMs: 1_000, hopMs: 2_500 }, ...more };
  const credential = { sessionId: "s", token: "presented" };
  const hop: Hop = { credential, call, enforced: true, signal: new AbortController().signal, trace: {} };
  const verdict = await guard(ports, hop, async () => ({ kind: "ready" }));
  return { verdict: verdict.kind === "refused" ? verdict.refusal.cause : verdict.kind, givenBack };
}

/** Of a call whose decision is an allow and whose exchange ends in this fault. */
const tokenAfter = (code: TransportFaultCode) =>
  tokenBefore({
    async send({ path }) {
      if (path !== "/v1/authorize") throw new TransportFault(code);
      return { status: 200, headers: {}, body: JSON.stringify(allow) };
    },
  });

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

const deny = { ...allow, decision: "deny", deny_reason: "TARGET_BLOCKED" };
const trip = (decision: object, exchange: [status: number, error: string] | null = null) => {
  const refused = exchange && { status: exchange[0], body: { error: exchange[1], error_description: "x" } };
  return [200, { decision, exchange: refused, stage_ms: { decide: 1, exchange: refused && 1 } }] as const;
};
const refused = (status: number, code: string) => [status, { error: { code, message: "x" } }] as const;

test.each<[string, readonly [status: number, body: unknown] | TransportFaultCode, string, number]>([
  ["refused to connect", "refused", "pdp_unreachable", 1],
  ["was lost", "unreachable", "pdp_unreachable", 0],
  ["was late", "timeout", "pdp_unreachable", 0],
  ["was abandoned", "aborted", "gone", 0],
  ["denied", trip(deny), "policy", 1],
  ["allowed what is denied by now", trip(allow, [403, "invalid_target"]), "policy", 1],
  ["found the token spent", trip(allow, [400, "invalid_grant"]), "unauthorized", 0],
  ["could not tell whether it is spent", trip(allow, [503, "invalid_grant"]), "exchange_unreachable", 0],
  ["was over its rate at first", refused(429, "rate_limited"), "pdp_unreachable", 1],
  ["was over its rate in between", trip(allow, [429, "slow_down"]), "exchange_unreachable", 0],
  ["could not record", refused(503, "audit_unavailable"), "audit_unavailable", 1],
  ["took the token for nobody's", refused(401, "unauthorized"), "unauthorized", 0],
  ["failed", refused(500, "internal"), "pdp_unreachable", 0],
])(
  "after a trip that %s the token comes back only where it is certainly unspent",
  async (_how, answer, cause, back) => {
    const transport: Transport = {
      async send() {
        if (typeof answer === "string") throw new TransportFault(answer);
        return { status: answer[0], headers: {}, body: JSON.stringify(answer[1]) };
      },
    };
    expect(await tokenBefore(transport, { oneTrip })).toEqual({ verdict: cause, givenBack: back });
  },
);

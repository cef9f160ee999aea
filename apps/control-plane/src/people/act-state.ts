import type { Act, ActState, UpTo } from "@svc/console";
import type { BlockKind } from "@svc/core";
import type { RunningQuery } from "../ports/audit-reads.ts";
import type { ConsentDeps } from "./consent-deps.ts";

/** What is so now, from the primary but for the counts. Undefined where nothing has the name. */
export async function stateOf(deps: ConsentDeps, { act, ref, ...rest }: Act): Promise<ActState | undefined> {
  switch (act) {
    case "end_session": {
      const session = await deps.sessions.read(ref, deps.clock.nowMs());
      return session && { of: "session", session, beside: await running(deps, { beside: ref }) };
    }
    case "end_sessions":
      return { of: "person", running: await running(deps, { userSub: ref }) };
    case "revoke_agent":
    case "lift_quarantine":
      return agentState(deps, ref);
    default:
      return blockState(deps, (rest as { kind: BlockKind }).kind, ref);
  }
}

async function agentState(deps: ConsentDeps, agent: string): Promise<ActState | undefined> {
  const identity = await deps.identities.byName(agent);
  if (identity === undefined) return undefined;
  const { agentId } = identity;
  const [[manifest], reached] = await Promise.all([
    deps.audit.versions({ agentId, after: undefined, limit: 1 }),
    running(deps, { agent }),
  ]);
  return { of: "agent", identity, manifest, running: reached };
}

async function blockState(deps: ConsentDeps, kind: BlockKind, ref: string): Promise<ActState> {
  const [block, reached, calls] = await Promise.all([
    deps.blocks.find({ kind, ref }, deps.clock.nowMs()),
    kind === "tool" ? undefined : running(deps, kind === "agent" ? { agent: ref } : { scope: ref }),
    kind === "scope" ? undefined : callsOf(deps, kind, ref),
  ]);
  return { of: "block", block, running: reached, calls };
}

/** Whether the act would change anything. */
export function isDue(act: Act["act"], state: ActState): boolean {
  switch (state.of) {
    case "session":
      return state.session.status === "active";
    case "person":
      return state.running.count > 0;
    case "agent":
      return act === "revoke_agent" ? state.identity.status !== "revoked" : state.identity.status === "quarantined";
    default:
      return (state.block === undefined) === (act === "set_block");
  }
}

/** What must still be so when the act is confirmed. Not the counts, which change all the time. */
export function essenceOf(state: ActState): string {
  switch (state.of) {
    case "session":
      return state.session.status;
    case "person":
      return state.running.count > 0 ? "running" : "none";
    case "agent":
      return [state.identity.status, state.identity.anchorVersion, state.manifest?.version].join(" ");
    default:
      return JSON.stringify(state.block ?? null);
  }
}

const mostSessions = 1_000;

const running = async ({ audit, clock }: ConsentDeps, which: Omit<RunningQuery, "nowMs" | "most">): Promise<UpTo> => ({
  count: await audit.countRunning({ ...which, nowMs: clock.nowMs(), most: mostSessions }),
  most: mostSessions,
});

const hourMs = 3_600_000;
const newestDecisions = 10_000;

const callsOf = async ({ audit, clock }: ConsentDeps, targetKind: "tool" | "agent", target: string): Promise<UpTo> => ({
  count: await audit.countCallsOf({ target, targetKind, sinceMs: clock.nowMs() - hourMs, newest: newestDecisions }),
  most: newestDecisions,
});

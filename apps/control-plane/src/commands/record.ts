import {
  type Chain,
  type DecisionRecord,
  type Explanation,
  explain,
  type SessionFacts,
  splitDataClasses,
  walkChain,
} from "@svc/core";
import { type ProofHindrance, type Proven, readSeal } from "@svc/seals";
import type { CommandDeps } from "./deps.ts";
import { PolicyMissing } from "./hop/hop-state.ts";
import { isUuid } from "./identifier.ts";

const lineageOf = async ({ audit }: Pick<CommandDeps, "audit">, actionId: string) =>
  isUuid(actionId) ? audit.lineage(actionId) : undefined;

/** Explains a decision (docs/reference/record.md#explanations). Undefined without such an action. */
export async function explainAction(
  deps: Pick<CommandDeps, "audit" | "sessions" | "policies">,
  actionId: string,
): Promise<{ readonly record: DecisionRecord; readonly explanation: Explanation } | undefined> {
  const lineage = await lineageOf(deps, actionId);
  if (lineage === undefined) return undefined;
  const { record } = lineage.action;
  const session = await deps.sessions.find(record.sessionId);
  const policy = session && (await deps.policies.pinned(session.scope, record.policyVersion));
  if (policy === undefined) throw new PolicyMissing("a recorded action's session or policy is not stored");
  const parent = record.parentActionId === null ? undefined : lineage.reached.get(record.parentActionId);
  // The presented token was narrowed to the data classes of its own action.
  const narrowedTo = parent && splitDataClasses(parent.record.dataClass);
  return { record, explanation: explain(policy, record, narrowedTo) };
}

/** An action's chain back to the human (docs/reference/record.md#chain-reads). Undefined without such an action. */
export async function readChain(
  deps: Pick<CommandDeps, "audit" | "sessions">,
  actionId: string,
): Promise<{ readonly chain: Chain; readonly session: SessionFacts } | undefined> {
  const lineage = await lineageOf(deps, actionId);
  if (lineage === undefined) return undefined;
  const session = await deps.sessions.find(lineage.action.record.sessionId);
  // Only damage to the database can cause it.
  if (session === undefined) throw new Error("a recorded action has no session");
  return { chain: walkChain(lineage.action, lineage.reached), session };
}

/** The seal of a decision with its proof, and those of its exchange and transaction token where they are sealed. */
export async function readEvidence({ audit }: Pick<CommandDeps, "audit">, actionId: string) {
  const [decision, ...others] = await audit.prove(["decision", "exchange", "mint"], actionId);
  if (decision === undefined || (!decision.ok && !isTampered(decision.cause))) return { status: "unsealed" } as const;
  const faulty = [decision, ...others].find((proven) => !proven.ok && isTampered(proven.cause));
  if (!decision.ok || faulty !== undefined) {
    const { cause, batch } = faulty as Extract<Proven, { ok: false }>;
    return { status: "faulty", cause, batch } as const;
  }
  const read = readSeal(decision.proof.seal);
  if (read === undefined) return { status: "faulty", cause: "list_changed", batch: undefined } as const;
  const { seal, header } = read;
  const proofs = [decision, ...others].flatMap((proven) => (proven.ok ? [proven.proof] : []));
  return { status: "sealed", batch: seal.batch, sealedAtMs: seal.sealedAtMs, kid: header.kid, proofs } as const;
}

/** An exchange or transaction token may follow later, or never. */
const isTampered = (cause: ProofHindrance): boolean => cause !== "absent" && cause !== "unsealed";

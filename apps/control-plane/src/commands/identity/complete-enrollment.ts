import { readPublicKey, verifyActorProof } from "@svc/tokens";
import type { Completion, PendingEnrollment } from "../../ports/enrollments.ts";
import type { CommandDeps } from "../deps.ts";
import { isUuid } from "../identifier.ts";

/** The issuer is the audience of the proof. */
export type CompleteDeps = Pick<CommandDeps, "clock" | "ids" | "enrollments" | "issuer">;

export interface CompleteCommand {
  readonly enrollmentId: string;
  /** `agent-proof+jwt` over the challenge. */
  readonly proof: string;
}

export type Completed =
  | Exclude<Completion, { kind: "over" }>
  | { readonly kind: "enrollment_not_found" }
  /** Too late, too many tries, or completed before. */
  | { readonly kind: "enrollment_expired" }
  | { readonly kind: "invalid_proof" };

/** Ends an enrollment with a proof that the agent holds its key (docs/reference/identity.md#enrollment). */
export async function completeEnrollment(deps: CompleteDeps, command: CompleteCommand): Promise<Completed> {
  const { enrollmentId, proof } = command;
  if (!isUuid(enrollmentId)) return { kind: "enrollment_not_found" };
  const pending = await deps.enrollments.takeTry(enrollmentId, deps.clock.nowMs());
  if (pending === "unknown") return { kind: "enrollment_not_found" };
  if (pending === "over") return { kind: "enrollment_expired" };
  if (!(await isProven(deps, pending, proof))) return { kind: "invalid_proof" };
  const outcome = await deps.enrollments.complete({ enrollmentId, eventId: deps.ids.next(), atMs: deps.clock.nowMs() });
  return outcome.kind === "over" ? { kind: "enrollment_expired" } : outcome;
}

async function isProven(
  { issuer, clock }: CompleteDeps,
  { agent, publicJwk, challenge }: PendingEnrollment,
  proof: string,
): Promise<boolean> {
  const reading = await readPublicKey(publicJwk);
  if (!reading.ok) return false;
  const verified = await verifyActorProof(
    proof,
    { nonce: challenge },
    {
      keysOf: (name) => (name === agent ? [reading.key] : undefined),
      audience: issuer,
      nowSeconds: clock.nowMs() / 1000,
    },
  );
  return verified.ok;
}

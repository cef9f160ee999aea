import { decideAgain, type GuardPorts, type Refusal } from "../guard.ts";
import type { Passing } from "./admit.ts";

/** Decides again before the last bytes of a late body are sent. */
export interface LateBody {
  /** True: the body may end. In observe mode a deny is recorded and the body ends all the same. */
  mayEnd(): Promise<boolean>;
  /** Of the second decision, where it was no allow. */
  readonly refusal: Refusal | undefined;
}

/** Undefined for a body that was whole, or free to be late, when its call was decided. */
export function lateBodyOf(ports: GuardPorts, admission: Passing): LateBody | undefined {
  if (admission.kind !== "pass" || !admission.isBodyLate) return undefined;
  const { hop } = admission;
  let refusal: Refusal | undefined;
  return {
    async mayEnd() {
      const again = await decideAgain(ports, hop);
      if (again.kind === "refused") refusal = again.refusal;
      return again.kind === "allowed" || (!hop.enforced && refusal?.cause === "policy");
    },
    get refusal() {
      return refusal;
    },
  };
}

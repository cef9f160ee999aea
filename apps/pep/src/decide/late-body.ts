import { decideAgain, type HopPorts } from "@svc/hop";
import type { RequestBody } from "../message/request-body.ts";
import type { Passing } from "./admit.ts";
import { type Refusal, refusalOf } from "./admit.ts";
import { acceptsTaint } from "./settle-body.ts";

/** Decides again before the last bytes of a late body are sent. Undefined for a body that needs no second decision. */
export function lateBodyOf(ports: HopPorts, admission: Passing, body: RequestBody) {
  if (admission.kind !== "pass" || body.isWhole || acceptsTaint(admission.taken.decision)) return undefined;
  const { hop } = admission;
  let refusal: Refusal | undefined;
  return {
    /** True: the body may end. In observe mode a deny is recorded and the body ends all the same. */
    async mayEnd(): Promise<boolean> {
      const again = await decideAgain(ports, hop);
      if (again.kind === "allowed") return true;
      const refused = refusalOf(again);
      if (refused !== "gone") refusal = refused;
      return !hop.enforced && again.kind === "denied";
    },
    /** Of the second decision, where it was no allow. */
    get refusal() {
      return refusal;
    },
  };
}

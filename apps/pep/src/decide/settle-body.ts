import type { Allowed, SettledBody } from "@svc/hop";
import { isBindable } from "@svc/tokens";
import type { Limits } from "../limits.ts";
import type { RawHeaders } from "../message/headers.ts";
import { isJsonBody } from "../message/media-type.ts";
import type { RequestBody } from "../message/request-body.ts";
import { blockedFor, type UnresolvedCall } from "../protocols/blocks.ts";

/** Why a body stops its call. `gone`: the agent disconnected or stopped sending. */
export type BodyRefusal = UnresolvedCall | "gone";

type Settled = SettledBody<BodyRefusal>;

/** The decision says so, or proves it: an older control plane does not say. */
export const acceptsTaint = ({ acceptsTaint: isAccepted, taint }: Allowed): boolean =>
  isAccepted === true || taint === "untrusted_external";

/**
 * Reads the body of an allowed call before anything is spent (docs/reference/enforcement-point.md#steps-of-a-call): a
 * privileged body whole, and bindable. Any other is read whole too unless its target accepts taint, so that nothing
 * learnt later flows into an older decision; one that is too long or too slow streams, and is decided again before its
 * end.
 */
export async function settleBody(
  decision: Allowed,
  body: RequestBody,
  headers: RawHeaders,
  limits: Pick<Limits, "bindCapBytes" | "bodyPauseMs" | "idleBodyMs">,
): Promise<Settled> {
  const { bindCapBytes: capBytes, bodyPauseMs, idleBodyMs } = limits;
  if (decision.transactionRequired) {
    const reading = await body.read({ capBytes, pauseMs: idleBodyMs });
    if (reading === "longer") return refused(blockedFor("body_too_large", { limit: String(capBytes) }));
    if (reading !== "whole") return refused("gone");
    const bytes = body.bytes();
    if (!isJsonBody(headers) || !isBindable(bytes)) return refused(blockedFor("unbindable"));
    return { kind: "ready", paramsJson: bytes.toString("utf8") };
  }
  if (body.isAbsent || acceptsTaint(decision)) return { kind: "ready" };
  const reading = await body.read({ capBytes, pauseMs: bodyPauseMs });
  return reading === "gone" ? refused("gone") : { kind: "ready" };
}

const refused = (refusal: BodyRefusal): Settled => ({ kind: "refused", refusal });

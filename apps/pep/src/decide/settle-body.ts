import type { Allowed } from "@svc/hop";
import { isBindable } from "@svc/tokens";
import type { Limits } from "../limits.ts";
import { type BodyHeaders, isPlainText } from "../message/media-type.ts";
import type { RequestBody } from "../message/request-body.ts";

/** The state of a body when its decision is spent. */
export type BodyState =
  /** Whole, or free to come later. For a privileged call: the object that is bound. */
  | { readonly kind: "ready"; readonly paramsJson?: string }
  /** Still coming, although its target may refuse taint: it needs a fresh decision before it ends. */
  | { readonly kind: "late" }
  | { readonly kind: "blocked"; readonly cause: "body_too_large" | "unbindable" }
  | { readonly kind: "gone" };

type BodyLimits = Pick<Limits, "bindCapBytes" | "bodyPauseMs" | "idleBodyMs">;

/**
 * What an allowed call's body must come to before anything is spent (contract: What happens to a call, 3 and 4).
 *
 * A privileged body is read whole and must be bindable. Any other is read whole too, so that nothing learnt later flows
 * into an older decision, unless the target is known to accept taint: an allow under `untrusted_external` says so. The
 * decision names no other proof, so a body that is too long or too slow to wait for is `late`: it streams, and its last
 * bytes wait for another decision.
 */
export async function settleBody(
  decision: Allowed,
  body: RequestBody,
  headers: BodyHeaders,
  limits: BodyLimits,
): Promise<BodyState> {
  if (decision.transactionRequired) return bind(body, headers, limits);
  if (body.isAbsent || decision.taint === "untrusted_external") return { kind: "ready" };
  const reading = await body.read({ capBytes: limits.bindCapBytes, pauseMs: limits.bodyPauseMs });
  if (reading === "gone") return { kind: "gone" };
  return { kind: reading === "whole" ? "ready" : "late" };
}

async function bind(
  body: RequestBody,
  headers: BodyHeaders,
  { bindCapBytes, idleBodyMs }: BodyLimits,
): Promise<BodyState> {
  const reading = await body.read({ capBytes: bindCapBytes, pauseMs: idleBodyMs });
  if (reading === "longer") return { kind: "blocked", cause: "body_too_large" };
  if (reading !== "whole") return { kind: "gone" };
  const bytes = body.bytes();
  if (!isPlainText(headers) || !isBindable(bytes)) return { kind: "blocked", cause: "unbindable" };
  return { kind: "ready", paramsJson: bytes.toString("utf8") };
}

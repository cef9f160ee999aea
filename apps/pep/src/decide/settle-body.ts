import type { Allowed, SettledBody } from "@svc/hop";
import { type BindingRefusal, bindingRefusalOf, type ContentFault } from "@svc/tokens";
import type { Limits } from "../limits.ts";
import type { RawHeaders } from "../message/headers.ts";
import { jsonFaultOf } from "../message/media-type.ts";
import type { RequestBody } from "../message/request-body.ts";
import { type BlockReason, blockedFor, type UnresolvedCall } from "../protocols/blocks.ts";

/** Why a body stops its call. `gone`: the agent disconnected or stopped sending. */
export type BodyRefusal = UnresolvedCall | "gone";

type Settled = SettledBody<BodyRefusal>;

const unbindableReasons = {
  type: "body_type",
  parameter: "body_type_parameter",
  coding: "body_coding",
  encoding: "body_encoding",
  syntax: "body_syntax",
  not_object: "body_no_object",
  depth: "body_depth",
  duplicate_member: "body_repeated_member",
  unsafe_number: "body_number",
  lone_surrogate: "body_surrogate",
} as const satisfies Record<ContentFault | BindingRefusal, BlockReason>;

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
  limits: Pick<Limits, "bindCapBytes" | "bodyWaitMs" | "idleBodyMs">,
): Promise<Settled> {
  const { bindCapBytes: capBytes, bodyWaitMs, idleBodyMs } = limits;
  if (decision.transactionRequired) {
    const reading = await body.read({ capBytes, idleMs: idleBodyMs });
    if (reading === "longer") return refused(blockedFor("body_too_large", { limit: String(capBytes) }));
    if (reading !== "whole") return refused("gone");
    if (body.isAbsent) return refused(blockedFor("no_body"));
    const bytes = body.bytes();
    const fault = jsonFaultOf(headers) ?? bindingRefusalOf(bytes);
    if (fault !== undefined) return refused(blockedFor(unbindableReasons[fault]));
    return { kind: "ready", paramsJson: bytes.toString("utf8") };
  }
  if (body.isAbsent || acceptsTaint(decision)) return { kind: "ready" };
  const reading = await body.read({ capBytes, withinMs: bodyWaitMs });
  return reading === "gone" ? refused("gone") : { kind: "ready" };
}

const refused = (refusal: BodyRefusal): Settled => ({ kind: "refused", refusal });

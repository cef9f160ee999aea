import { type CallArguments, classify } from "@svc/classify";
import { parseExactObject } from "@svc/tokens";
import { isJsonBody } from "../message/media-type.ts";
import { blockedFor } from "./blocks.ts";
import type { ClassifiedTarget, ReadCall } from "./protocol.ts";

/**
 * Reads what the rules of a route name, and gives the call the class of the first rule that holds
 * (docs/reference/enforcement-point.md#data-class-by-arguments). The body is read, whole, only for rules that name its
 * members.
 */
export const argumentReader =
  (
    upstream: string,
    { target, targetKind, rules }: ClassifiedTarget,
    line: Pick<CallArguments, "query" | "segments">,
  ): ReadCall =>
  async (body, headers, { bindCapBytes: capBytes, idleBodyMs: idleMs }) => {
    const reading = rules.readsJson ? await body.read({ capBytes, idleMs }) : "whole";
    if (reading === "longer") return { unresolved: blockedFor("message_too_large", { limit: String(capBytes) }) };
    if (reading !== "whole") return "gone";
    const json = rules.readsJson && isJsonBody(headers) ? parseExactObject(body.bytes()) : undefined;
    const dataClass = classify(rules, { ...line, json });
    if (dataClass === undefined) return { unresolved: blockedFor("no_rule_holds", { upstream }) };
    return { call: { target, targetKind, dataClass } };
  };

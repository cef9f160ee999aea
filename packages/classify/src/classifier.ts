import { classify, compileRules } from "./classify.ts";
import { type Classification, classification } from "./rules.ts";

/** No rule holds for a call's parameters, and the rules give every other call no class. */
export class UnclassifiedCall extends Error {
  override readonly name = "UnclassifiedCall";
  readonly code = "unclassified_call";
}

/**
 * The rules as a function of a call's parameters, for the inline client.
 *
 * ```ts
 * const dataClass = classifier({
 *   classify: [{ when: { "/amount": { max: 500 } }, data_class: "payments.small" }],
 *   data_class: "payments.any",
 * });
 * await svc.authorize(context, { target: "http:bank/pay", targetKind: "tool", dataClass, params: { amount: 5 } });
 * ```
 * @throws {ZodError} for rules that cannot be used; the function throws `UnclassifiedCall`
 */
export function classifier(settings: Classification): (params: unknown) => string {
  const { classify: list, data_class } = classification.parse(settings);
  const rules = compileRules(list, data_class);
  return (params) => {
    const found = classify(rules, { json: jsonOf(params) });
    if (found !== undefined) return found;
    throw new UnclassifiedCall("no rule holds for these parameters, and the rules have no data_class");
  };
}

/** What would be sent: a member that JSON leaves out, or writes otherwise, is read as it is sent. */
function jsonOf(params: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(params));
  } catch {
    return undefined;
  }
}

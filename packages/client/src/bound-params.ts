import { bindParams, bindParamsValue } from "@svc/tokens";

/** The JSON object that a privileged call is bound to. */
export type Params = Readonly<Record<string, unknown>>;

/** A call's parameters at the time of the call: what is bound later must be what is sent. */
export interface ParamsSnapshot {
  /** Undefined where they have no JSON. */
  readonly text: string | undefined;
  /**
   * The text.
   *
   * @throws {TypeError} where they cannot be bound (docs/reference/tokens.md#parameter-binding): no object, NaN,
   * numbers that no double holds, lone surrogates, nesting over 64; and where the caller changed them meanwhile
   */
  bindable(): string;
}

export function snapshotOf(params: Params): ParamsSnapshot {
  const text = textOf(params);
  return {
    text,
    bindable() {
      const binding = bindParamsValue(params);
      if (!binding.ok) throw new TypeError(`params cannot be bound: ${binding.cause}`);
      if (text === undefined || text !== textOf(params)) throw new TypeError("params changed while the hop was taken");
      return text;
    },
  };
}

function textOf(params: Params): string | undefined {
  try {
    return JSON.stringify(params);
  } catch {
    return undefined;
  }
}

/** Whether a body is the JSON of these parameters, in any spelling. */
export function isJsonOf(body: unknown, paramsJson: string): boolean {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return false;
  const [one, other] = [bindParams(body), bindParams(paramsJson)];
  return one.ok && other.ok && one.paramsHash === other.paramsHash;
}

import canonicalize from "canonicalize";
import { sha256Base64url } from "./encoding.ts";
import { refuse } from "./refusal.ts";
import { isJsonObject, jsonFaults, maxParamsDepth, parseStrictJson, type StrictJson } from "./strict-json.ts";

/** Why parameters cannot be bound. All but `not_object` are 422 `params_unbindable` (docs/reference/tokens.md#parameter-binding). */
export const bindingRefusals = [
  "not_object",
  ...jsonFaults,
  "duplicate_member",
  "unsafe_number",
  "lone_surrogate",
] as const;
export type BindingRefusal = (typeof bindingRefusals)[number];

export type ParamsBinding =
  | { readonly ok: true; readonly paramsHash: string }
  | { readonly ok: false; readonly cause: BindingRefusal };

/**
 * `params_hash` = base64url(SHA-256(RFC 8785 canonical JSON)) of a call's parameters, from the text as it is sent.
 * Refuses every text that a receiver could read differently than it was hashed (docs/reference/tokens.md#parameter-binding).
 */
export function bindParams(json: string | Uint8Array): ParamsBinding {
  const parsed = parseStrictJson(json, { maxDepth: maxParamsDepth });
  return parsed.ok ? bindParsedParams(parsed) : refuse(parsed.cause);
}

/**
 * The same for parameters inside a larger text, parsed already with a `maxDepth` of 64 more than the depth around them.
 * The facts of the whole text count against every part of it.
 */
export function bindParsedParams(parsed: StrictJson, params: unknown = parsed.value): ParamsBinding {
  if (!isJsonObject(params)) return refuse("not_object");
  const cause = ambiguityOf(parsed);
  return cause === undefined ? { ok: true, paramsHash: sha256Base64url(canonicalJson(params)) } : refuse(cause);
}

/**
 * Why `bindParams` would refuse it, without the cost of hashing: for a sender whose receiver binds it. Undefined where it
 * would not.
 */
export function bindingRefusalOf(json: string | Uint8Array): BindingRefusal | undefined {
  const parsed = parseStrictJson(json, { maxDepth: maxParamsDepth });
  if (!parsed.ok) return parsed.cause;
  return isJsonObject(parsed.value) ? ambiguityOf(parsed) : "not_object";
}

function ambiguityOf({ duplicateDepth, unsafeNumber, loneSurrogate }: StrictJson): BindingRefusal | undefined {
  if (duplicateDepth !== null) return "duplicate_member";
  if (unsafeNumber) return "unsafe_number";
  return loneSurrogate ? "lone_surrogate" : undefined;
}

/** The same for a value, as `JSON.stringify` would send it. Values that JSON cannot express (NaN, a cycle, a bigint) are refused. */
export function bindParamsValue(params: unknown): ParamsBinding {
  let json: string | undefined;
  try {
    json = JSON.stringify(params, onlyFinite);
  } catch {
    return refuse("syntax");
  }
  return json === undefined ? refuse("not_object") : bindParams(json);
}

// JSON.stringify would write null, and bind a value that was never passed.
function onlyFinite(_name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError("not a JSON number");
  return value;
}

/** RFC 8785. Throws for lone surrogates and non-finite numbers. */
export function canonicalJson(value: object): string {
  const json = canonicalize(value);
  if (json === undefined) throw new TypeError("not a JSON value");
  return json;
}

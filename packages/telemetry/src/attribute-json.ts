import { spanAttributes } from "./contract.ts";
import { checkOf, knownHttpMethod, type ValueKind } from "./value-kind.ts";

/** An attribute as OTLP's JSON, or undefined for a value that the contract does not admit. */
export type ToJson = (value: unknown) => string | undefined;

type OtlpType = "stringValue" | "intValue" | "boolValue";
const attributeJson = (key: string, type: OtlpType, value: string) => `{"key":"${key}","value":{"${type}":${value}}}`;

/** Of a closed list each value's text is made once. */
function oneOf(key: string, type: OtlpType, values: readonly (string | boolean)[]): ToJson {
  const texts = new Map<unknown, string>(
    values.map((value) => [value, attributeJson(key, type, JSON.stringify(value))]),
  );
  return (value) => texts.get(value);
}

const escaped: ToJson = (value) => JSON.stringify(value);
const quoted: ToJson = (value) => `"${value}"`;

function written(key: string, kind: ValueKind, type: OtlpType, format: ToJson): ToJson {
  const isAllowed = checkOf(kind);
  const start = `{"key":"${key}","value":{"${type}":`;
  return (value) => (isAllowed(value) ? `${start}${format(value)}}}` : undefined);
}

function toJsonOf(key: string, kind: ValueKind): ToJson {
  if (typeof kind === "object") return oneOf(key, "stringValue", kind);
  switch (kind) {
    case "boolean":
      return oneOf(key, "boolValue", [true, false]);
    case "ordinal":
    case "integer":
    case "http_status":
      return written(key, kind, "intValue", String);
    case "http_method":
      return written(key, kind, "stringValue", (value) => quoted(knownHttpMethod(String(value))));
    case "plaintext":
      return written(key, kind, "stringValue", escaped);
    // Their patterns admit nothing that needs an escape.
    case "uuid":
    case "data_class":
    case "pseudonym":
    case "error_type":
    case "trace_id":
    case "span_id":
      return written(key, kind, "stringValue", quoted);
  }
}

/** By attribute. */
export const attributeWriters: ReadonlyMap<string, ToJson> = new Map(
  Object.entries(spanAttributes).map(([key, kind]) => [key, toJsonOf(key, kind)]),
);

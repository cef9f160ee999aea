import type { logFields, spanAttributes } from "@svc/telemetry";

type Kind = (typeof spanAttributes)[keyof typeof spanAttributes] | (typeof logFields)[keyof typeof logFields];
type NamedKind = Extract<Kind, string>;

const hex = (length: number) => new RegExp(`^[0-9a-f]{${length}}$`);
const text = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value);
const whole = (from: number, to: number) => (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to;

/** The expected form of each kind of value, written again to test the service's own check. */
const looksLike: Record<NamedKind, (value: unknown) => boolean> = {
  uuid: text(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
  ordinal: whole(1, 32),
  integer: whole(0, 1_000_000),
  boolean: (value) => typeof value === "boolean",
  data_class: text(/^[a-z.]+( [a-z.]+)*$/),
  pseudonym: text(hex(32)),
  plaintext: text(/./),
  error_type: text(/^[A-Z][A-Za-z0-9]{0,63}$/),
  http_method: text(/^(CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|QUERY|TRACE|_OTHER)$/),
  http_status: whole(100, 599),
  trace_id: text(hex(32)),
  span_id: text(hex(16)),
};

export const isOfKind = (kind: Kind, value: unknown): boolean =>
  typeof kind === "string" ? looksLike[kind](value) : (kind as readonly unknown[]).includes(value);

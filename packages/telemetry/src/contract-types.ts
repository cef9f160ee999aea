/** Types derived from the contract's tables: what may be counted, set on a span and written to a log. */
import type { DenyReason } from "@svc/core";
import type { Emitter, logFields, metrics, spanAttributes, spans } from "./contract.ts";
import type { ValueOf } from "./value-kind.ts";

type MetricTable = typeof metrics;
export type MetricName = keyof MetricTable;
type MetricOf<E extends Emitter, Type extends string> = {
  [N in MetricName]: MetricTable[N]["type"] extends Type
    ? E extends MetricTable[N]["emittedBy"][number]
      ? N
      : never
    : never;
}[MetricName];

export type CounterName<E extends Emitter = Emitter> = MetricOf<E, "counter">;
export type GaugeName<E extends Emitter = Emitter> = MetricOf<E, "gauge">;
export type HistogramName<E extends Emitter = Emitter> = MetricOf<E, "histogram">;

type LabelTable<N extends MetricName> = MetricTable[N]["labels"];
type Stated<Table> = { [L in keyof Table]: Table[L] extends "release" ? never : L }[keyof Table];

/** The labels a caller states; `release` labels are filled in by the emitter. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in Stated<LabelTable<N>>]: LabelTable<N>[L] extends readonly (infer V)[] ? V : never;
};
/** A metric without labels. */
export type IsPlain<N extends MetricName> = [Stated<LabelTable<N>>] extends [never] ? true : false;
/** Every value of a metric's only label. */
export type LabelValueOf<N extends MetricName> = LabelsOf<N>[keyof LabelsOf<N>] & string;

export type SpanName<E extends Emitter = Emitter> = {
  [N in keyof typeof spans]: (typeof spans)[N] extends E ? N : never;
}[keyof typeof spans];

type AttributeTable = typeof spanAttributes;
export type AttributeKey = keyof AttributeTable;
type VerdictKey = "authz.outcome" | "authz.deny_reason";
type RefKey = "authz.agent_ref" | "authz.act_chain_ref" | "authz.taint_source_ref";
type PlaintextKey = "authz.agent" | "authz.act_chain" | "authz.taint_source";

/** Absent, null and undefined all mean that the fact does not apply. */
type Facts<Table, Keys extends keyof Table> = { readonly [K in Keys]?: ValueOf<Table[K]> | null | undefined };
type Without<Keys extends string> = { readonly [K in Keys]?: undefined };

/** A reason exists exactly for a deny, as in the audit table. */
export type VerdictFacts =
  | Without<VerdictKey>
  | { readonly "authz.outcome": "allow"; readonly "authz.deny_reason"?: null | undefined }
  | { readonly "authz.outcome": "deny"; readonly "authz.deny_reason": DenyReason };

/** Pseudonyms or names, never both. */
export type IdentityFacts =
  | (Facts<AttributeTable, RefKey> & Without<PlaintextKey>)
  | (Facts<AttributeTable, PlaintextKey> & Without<RefKey>);

export type SpanFacts = VerdictFacts &
  IdentityFacts &
  Facts<AttributeTable, Exclude<AttributeKey, VerdictKey | RefKey | PlaintextKey>>;

type LogTable = typeof logFields;
/** The fields a caller states: component, trace and span are attached. */
export type LogFacts = Facts<LogTable, Exclude<keyof LogTable, "authz.component" | "trace_id" | "span_id">>;

/** Literals and unions of them; `never` for `string` and templates with a hole, so that no message holds a name. */
export type StaticText<M extends string> = M extends string
  ? Record<never, never> extends Record<M, unknown>
    ? never
    : M
  : never;

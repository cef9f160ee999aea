import { type Emitter, logFields, logLevels, type MetricSpec, metrics, spanAttributes, spans } from "@svc/telemetry";
import type { ReceivedSpan } from "@svc/test-conformance/span-receiver";
import type { Sample, Scrape } from "./exposition.ts";
import { isOfKind } from "./kinds.ts";
import type { LogLine } from "./log-lines.ts";

/**
 * Differences of a scrape, a span or a log line from the contract's tables. `packages/telemetry` compares these with
 * the specification's.
 */

const specs: Readonly<Record<string, MetricSpec>> = metrics;

/** `svc_decisions_total` belongs to `svc_decisions`, `svc_pep_calls_total` to itself, a bucket to its histogram. */
export const familyOf = (sample: string): string =>
  [sample, sample.replace(/_total$/, ""), sample.replace(/_(bucket|sum|count)$/, "")].find((name) => name in specs) ??
  sample;

export function metricFaults({ samples, types }: Scrape, emitter: Emitter): string[] {
  const families = [...types.keys()].map(familyOf);
  const expected = Object.keys(specs).filter((name) => specs[name]?.emittedBy.includes(emitter));
  return [
    ...expected.filter((name) => !families.includes(name)).map((name) => `${name} is missing`),
    ...families.filter((name) => !expected.includes(name)).map((name) => `${name} is no metric of ${emitter}`),
    ...samples.flatMap(sampleFaults),
  ];
}

function sampleFaults({ name, labels, series }: Sample): string[] {
  const spec = specs[familyOf(name)];
  if (spec === undefined) return [`${series} is of no family`];
  const { le, ...stated } = labels;
  if (le !== undefined && !(spec.type === "histogram" && Number.isFinite(Number(le.replace("+Inf", "0")))))
    return [`${series} has a bucket`];
  const names = Object.keys(stated).sort().join();
  if (names !== Object.keys(spec.labels).sort().join()) return [`${series} has the labels ${names}`];
  return Object.entries(stated)
    .filter(([label, value]) => !isLabelValue(spec.labels[label], value))
    .map(([label]) => `${series} has a value of ${label} that is not in its closed set`);
}

const isLabelValue = (allowed: MetricSpec["labels"][string] | undefined, value: string): boolean =>
  allowed === "release" ? /^\d+\.\d+\.\d+$/.test(value) : (allowed?.includes(value) ?? false);

const services = { control_plane: "svc-control-plane", pep: "svc-pep", verifier: undefined } as const;
const resourceKeys =
  "service.name service.version telemetry.sdk.language telemetry.sdk.name telemetry.sdk.version".split(" ");
const plaintextOf = {
  "authz.agent_ref": "authz.agent",
  "authz.act_chain_ref": "authz.act_chain",
  "authz.taint_source_ref": "authz.taint_source",
} as const;

export interface SpanRules {
  /** Whether names are allowed in place of pseudonyms. */
  readonly isDisclosed: boolean;
}

export function spanFaults(span: ReceivedSpan, { isDisclosed }: SpanRules): string[] {
  const { name, attributes, extras, resource } = span;
  const emitter = spans[name as keyof typeof spans];
  const isDeny = attributes["authz.outcome"] === "deny";
  const isThere = (key: string) => attributes[key] !== undefined;
  const faults = [
    emitter === undefined && "is no span of the contract",
    resource["service.name"] !== services[emitter] && `came from ${resource["service.name"]}`,
    Object.keys(resource).sort().join() !== resourceKeys.join() && `has the resource ${Object.keys(resource)}`,
    extras.length > 0 && `has events, links, a trace state or a status message: ${JSON.stringify(extras)}`,
    isDeny !== isThere("authz.deny_reason") && "has a deny reason without a deny, or a deny without a reason",
    ...Object.entries(attributes).map(([key, value]) => attributeFault(key, value)),
    ...Object.entries(plaintextOf).flatMap(([ref, plaintext]) => [
      isThere(ref) && isThere(plaintext) && `has ${ref} beside ${plaintext}`,
      isThere(isDisclosed ? ref : plaintext) && `has ${isDisclosed ? ref : plaintext}`,
    ]),
  ];
  return faults.filter((fault) => typeof fault === "string").map((fault) => `${name} ${fault}`);
}

export function attributeFault(key: string, value: unknown): string | false {
  const kind = spanAttributes[key as keyof typeof spanAttributes];
  if (kind === undefined) return `has ${key}, which is no attribute of the contract`;
  return !isOfKind(kind, value) && `has ${JSON.stringify(value)} as ${key}`;
}

const headFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  level: (value) => (logLevels as readonly unknown[]).includes(value),
  time: (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value),
  msg: (value) => typeof value === "string",
};

/** @param messages all messages of the sources */
export function logFaults({ record, text }: LogLine, component: string, messages: ReadonlySet<string>): string[] {
  const faults = [
    record["authz.component"] !== component && `is of ${record["authz.component"]}`,
    !messages.has(String(record.msg)) && "has a message that is no literal of the sources",
    ...Object.keys(headFields)
      .filter((field) => !headFields[field]?.(record[field]))
      .map((field) => `has no ${field}`),
    ...Object.entries(record).map(([field, value]) => {
      if (field in headFields) return false;
      const kind = logFields[field as keyof typeof logFields];
      if (kind === undefined) return `has ${field}, which is no field of the contract`;
      return !isOfKind(kind, value) && `has ${JSON.stringify(value)} as ${field}`;
    }),
  ];
  return faults.filter((fault) => typeof fault === "string").map((fault) => `a line ${fault}: ${text}`);
}

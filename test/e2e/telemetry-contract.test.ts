import { blockCauses, pepOutcomes, popFailureCauses } from "@svc/core";
import {
  blockLogLevels,
  components,
  type LogLevel,
  logFields,
  logLevels,
  type MetricSpec,
  metrics,
  spanAttributes,
  spans,
} from "@svc/telemetry";
import type { ReceivedSpan } from "@svc/test-conformance/span-receiver";
import { requires } from "@svc/test-support";
import { afterAll, expect } from "vitest";
import { canariesOf, found } from "./src/telemetry/canaries.ts";
import { attributeFault, familyOf, logFaults, metricFaults, spanFaults } from "./src/telemetry/contract-faults.ts";
import { chainShown, decisionsById, misnamed } from "./src/telemetry/decisions.ts";
import { callThrough, registerCourier } from "./src/telemetry/drive-calls.ts";
import { callEveryRoute, takeHops } from "./src/telemetry/drive-hops.ts";
import { driveLibraries } from "./src/telemetry/drive-libraries.ts";
import { callAtRandom } from "./src/telemetry/drive-random.ts";
import { type Sample, total } from "./src/telemetry/exposition.ts";
import { type LogLine, literalsOfTheSources } from "./src/telemetry/log-lines.ts";
import { checkMetrics } from "./src/telemetry/promtool.ts";
import { emitterOf, openSurface, processNames } from "./src/telemetry/surface.ts";

const { describe, test, start } = requires("redis-server");

// Driven once during collection: each test reads one aspect of what was emitted.
const driven = await start(async () => {
  const surface = await openSurface();
  afterAll(() => surface.stop());
  await registerCourier(surface);
  const before = await surface.scrapes();
  await callEveryRoute(surface);
  await takeHops(surface);
  const libraries = await driveLibraries(surface.api);
  await callThrough(surface);
  const answered = await callAtRandom(surface, { calls: 2_000, seed: 71 });
  const after = await surface.scrapes();
  const decisions = await decisionsById(surface.api);
  await surface.finish();
  return { surface, before, libraries, answered, after, decisions, logs: surface.logs() };
});
const { surface, before, libraries, answered, after, decisions, logs } = driven;
const lines = processNames.flatMap((name) => logs[name]);
const emitted = surface.receiver.spans;

const distinct = (faults: readonly string[]) => [...new Set(faults)].sort();

describe("only what the telemetry contract lists is emitted", () => {
  test.each(processNames)("in the metrics of the %s", (name) => {
    expect(distinct(metricFaults(after[name], emitterOf(name)))).toEqual([]);
  });

  test.each(processNames)("in the log of the %s, whose messages are literals of the sources", (name) => {
    expect(logs[name].length).toBeGreaterThan(0);
    expect(distinct(logs[name].flatMap((line) => logFaults(line, emitterOf(name), literals)))).toEqual([]);
  });
  const literals = literalsOfTheSources();

  test("in all spans; a deny has a reason, an allow has none, and names are pseudonyms", () => {
    expect(distinct(emitted.flatMap((span) => spanFaults(span, { isDisclosed: false })))).toEqual([]);
  });

  test("in the verifier's sink", () => {
    const attributes = libraries.spans.flatMap((span) => Object.entries(span.attributes));
    expect(distinct(attributes.flatMap(([key, value]) => attributeFault(key, value) || []))).toEqual([]);
    const messages = new Set(["admission refused"]);
    expect(distinct(libraries.logs.flatMap((line) => logFaults(line, "verifier", messages)))).toEqual([]);
  });

  test("in the drift gate's file", () => {
    expect(distinct(metricFaults(libraries.drift, "drift"))).toEqual([]);
  });
});

test.each(processNames)("no method, path, status or header of a call adds a series to the %s", (name) => {
  const series = ({ samples }: (typeof after)[typeof name]) => samples.map((sample) => sample.series).sort();
  expect(answered).toBe(2_000);
  expect(series(after[name])).toEqual(series(before[name]));
});

describe("metrics and spans agree on how often", () => {
  const counted = (family: string, labels: Readonly<Record<string, string>>) =>
    processNames.reduce((sum, name) => sum + total(after[name], family, labels), 0);
  const spansWith = (facts: Readonly<Record<string, string>>) =>
    emitted.filter(({ attributes }) => Object.entries(facts).every(([key, value]) => attributes[key] === value)).length;

  test.each(pepOutcomes)("a call is %s", (outcome) => {
    expect(counted("svc_pep_calls_total", { outcome })).toBe(spansWith({ "authz.pep.outcome": outcome }));
  });
  test.each(blockCauses)("a call is blocked for %s", (cause) => {
    const facts = { "authz.pep.outcome": "blocked", "authz.pep.block_cause": cause };
    expect(counted("svc_pep_blocks_total", { cause })).toBe(spansWith(facts));
  });
  test.each(popFailureCauses)("a proof of possession is %s, renewals apart, which have no span", (cause) => {
    const renewals = cause === "missing" ? renewalsWithoutProof : 0;
    const facts = { "authz.pop_failure_cause": cause };
    expect(counted("svc_exchange_pop_failures_total", { cause })).toBe(spansWith(facts) + renewals);
  });
  const renewalsWithoutProof = lines.filter(
    ({ record }) => record.msg === "renewal refused: the actor proof is not valid",
  ).length;
  test("a transaction token is minted, and a reason is counted for every deny", () => {
    expect(counted("svc_transaction_mints_total", { result: "minted" })).toBe(spansWith({ "authz.result": "minted" }));
    expect(counted("svc_denials_total", {})).toBe(counted("svc_decisions_total", { outcome: "deny" }));
  });
});

test("the spans of one call all name its data class, or none does", () => {
  const named = Map.groupBy(
    [...emitted, ...libraries.spans].filter(({ attributes }) => "authz.action_id" in attributes),
    ({ attributes }) => (attributes as Record<string, unknown>)["authz.action_id"],
  );
  const classesOf = (spansOfCall: readonly { readonly attributes: object }[]) =>
    new Set(spansOfCall.map(({ attributes }) => (attributes as Record<string, unknown>)["authz.data_class"]));
  const several = [...named.values()].filter((spansOfCall) => spansOfCall.length > 1);
  expect(several.length).toBeGreaterThan(50);
  const apart = several.filter((spansOfCall) => classesOf(spansOfCall).size > 1);
  expect(apart.map((spansOfCall) => spansOfCall.map(({ name, attributes }) => [name, attributes]))).toEqual([]);
});

describe("no name, credential or content of a request or response is emitted", () => {
  const canaries = canariesOf([surface.api, surface.strict], surface.tool, ["canary", "documented", '"ada"', "eyJ"]);
  const everything = {
    metrics: processNames.map((name) => after[name].text).join("\n"),
    logs: [...lines, ...libraries.logs].map(({ text }) => text).join("\n"),
    spans: surface.receiver.text() + JSON.stringify(libraries.spans),
  };

  test("the search covers over 500 tokens, ids, signatures, hashes, keys and challenges", () => {
    expect(canaries.size).toBeGreaterThan(500);
  });

  test.each(Object.entries(everything))("in the %s", (_where, text) => {
    expect(text.length).toBeGreaterThan(1_000);
    expect(found(text, canaries)).toEqual([]);
  });
});

describe("pseudonyms", () => {
  test("of a decision's span match the record's agent and taint source", () => {
    const decided = emitted.filter(({ attributes }) => attributes["authz.action_id"] !== undefined);
    expect(decided.length).toBeGreaterThan(50);
    expect(misnamed(decided, decisions, false)).toEqual([]);
    expect(decided.some(({ attributes }) => attributes["authz.taint_source_ref"] !== undefined)).toBe(true);
  });

  test("of a chain are computed from its JSON array, with the person first", () => {
    const chains = emitted.map(({ attributes }) => attributes["authz.act_chain_ref"]);
    expect(chains).toContain(chainShown(["ada", "planner-canary", "clerk-canary"], false));
    expect(chains).toContain(chainShown(["canary-user"], false));
  });
});

describe("levels", () => {
  const spanOf = new Map(emitted.map((span) => [span.spanId, span]));
  const joined = lines.flatMap((line) => {
    const span = spanOf.get(String(line.record.span_id));
    return span === undefined ? [] : [{ line, span }];
  });
  const isAtLeast = ({ record }: LogLine, level: LogLevel) =>
    logLevels.indexOf(record.level as LogLevel) >= logLevels.indexOf(level);
  const wrong = (applies: (span: ReceivedSpan) => boolean, isRight: (line: LogLine, span: ReceivedSpan) => boolean) => {
    const applying = joined.filter(({ span }) => applies(span));
    expect(applying.length).toBeGreaterThan(0);
    return distinct(applying.filter(({ line, span }) => !isRight(line, span)).map(({ line }) => line.text));
  };

  const sharedFields = ["authz.session_id", "authz.action_id", "authz.hop"];

  test("every span has a log line with the same session, action and hop", () => {
    // A call whose agent disconnected before a decision has no attributes.
    const finished = emitted.filter(({ attributes }) => Object.keys(attributes).length > 0);
    const ownLines = joined.filter(({ line, span }) =>
      [...sharedFields, "error.type"].every((field) => line.record[field] === span.attributes[field]),
    );
    const logged = new Set(ownLines.map(({ span }) => span.spanId));
    expect(finished.filter(({ spanId }) => !logged.has(spanId))).toEqual([]);
  });

  test("no log line differs from its span in these, or in its trace", () => {
    const apart = joined.filter(
      ({ line: { record }, span: { traceId, attributes } }) =>
        record.trace_id !== traceId ||
        sharedFields.some((field) => record[field] !== undefined && record[field] !== attributes[field]),
    );
    expect(apart.map(({ line }) => line.text)).toEqual([]);
  });

  test("a deny is INFO", () => {
    const isDeny = ({ attributes }: ReceivedSpan) => attributes["authz.outcome"] === "deny";
    expect(wrong(isDeny, ({ record }) => record.level === "info")).toEqual([]);
  });

  test.each(blockCauses)("a block for %s is logged as the cause table pages", (cause) => {
    const isBlocked = ({ attributes }: ReceivedSpan) =>
      attributes["authz.pep.outcome"] === "blocked" && attributes["authz.pep.block_cause"] === cause;
    expect(wrong(isBlocked, ({ record }) => record.level === blockLogLevels[cause])).toEqual([]);
  });

  test("a failed span's line is at least a WARNING, with its error type", () => {
    const isRight = (line: LogLine) => isAtLeast(line, "warn") && line.record["error.type"] !== undefined;
    expect(wrong(({ hasFailed }) => hasFailed, isRight)).toEqual([]);
  });

  test("an undecided call that passes, and a spent token, are a WARNING", () => {
    for (const message of ["call forwarded without a decision", "a spent token was presented"]) {
      const levels = lines.filter(({ record }) => record.msg === message).map(({ record }) => record.level);
      expect([message, ...new Set(levels)]).toEqual([message, "warn"]);
    }
  });
});

const samples = processNames.flatMap((name) => after[name].samples);
const isMoved = ({ name, value }: Sample) => value > 0 && !name.endsWith("_bucket");
const counts = (family: string, label?: string, value?: string): boolean =>
  samples.some(
    (sample) =>
      familyOf(sample.name) === family && isMoved(sample) && (label === undefined || sample.labels[label] === value),
  ) || libraries.counted.some(([name, labels]) => name === family && (label === undefined || labels[label] === value));

/** Rows that no ordinary call moves; the named test causes each. */
const seenElsewhere: Readonly<Record<string, string>> = {
  svc_telemetry_dropped_total: "telemetry-losses.test.ts",
  svc_telemetry_identity_disclosure: "telemetry-disclosure.test.ts",
  "authz.agent": "telemetry-disclosure.test.ts",
  "authz.act_chain": "telemetry-disclosure.test.ts",
  "authz.taint_source": "telemetry-disclosure.test.ts",
};
const rows = (names: readonly string[]) => names.filter((name) => !(name in seenElsewhere));

/** The denies of all reasons, the drift gate's results and the verifier's refusals have their own tables elsewhere. */
const inTablesOfTheirOwn = ["svc_denials", "svc_drift_runs", "svc_transaction_rejections"];
const closedLabels = Object.entries<MetricSpec>(metrics)
  .filter(([name]) => !(name in seenElsewhere) && !inTablesOfTheirOwn.includes(name))
  .flatMap(([name, { labels }]) =>
    Object.entries(labels).flatMap(([label, values]) => (values === "release" ? [] : [[name, label, values] as const])),
  );

describe("every row of the contract's tables is emitted", () => {
  test.each(rows(Object.keys(metrics)))("the metric %s", (name) => {
    const isOfDrift = libraries.drift.samples.some((sample) => familyOf(sample.name) === name);
    expect(counts(name) || libraries.gauges.has(name) || isOfDrift).toBe(true);
  });

  test.each(closedLabels)("each value of %s by its %s", (name, label, values) => {
    expect(values.filter((value) => !counts(name, label, value))).toEqual([]);
  });

  const names = [...emitted, ...libraries.spans].map(({ name }) => name);
  test.each(Object.keys(spans))("the span %s", (name) => expect(names).toContain(name));

  test.each(rows(Object.keys(spanAttributes)))("the attribute %s", (key) => {
    const values = new Set(emitted.map(({ attributes }) => attributes[key]).filter((value) => value !== undefined));
    const kind = spanAttributes[key as keyof typeof spanAttributes];
    if (key === "authz.deny_reason" || typeof kind === "string") expect(values.size).toBeGreaterThan(0);
    else expect([...values].sort()).toEqual([...kind].sort());
  });

  test.each(Object.keys(logFields))("the log field %s", (field) => {
    const values = new Set([...lines, ...libraries.logs].map(({ record }) => record[field]));
    // The command line has no log.
    if (field === "authz.component") expect([...values, "cli"].sort()).toEqual([...components].sort());
    else expect([...values].some((value) => value !== undefined)).toBe(true);
  });
});

const withPromtool = requires("redis-server", "promtool");
withPromtool.test.each([...processNames, "drift gate" as const])("promtool accepts the metrics of the %s", (name) => {
  const { text } = name === "drift gate" ? libraries.drift : after[name];
  expect(checkMetrics(text)).toBe("");
});

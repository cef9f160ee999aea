import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { DestinationStream } from "pino";
import type { LogLevel } from "./contract.ts";
import type { IdentityFacts, SpanFacts, SpanName, StaticText } from "./contract-types.ts";
import { createLogWriter, createNotice, type Notice, type SpanIds } from "./logger.ts";
import { type Counts, createMetrics, type Metrics, type Observations, type Rendered } from "./metrics.ts";
import { shareMetrics } from "./multiprocess.ts";
import { createIdentities, type Identities } from "./pseudonym.ts";
import { readTraceContext, type TraceHeaders } from "./trace-context.ts";
import { createTracing, type Span, type SpanMoment } from "./tracing.ts";
import type { TracingEnvironment } from "./tracing-environment.ts";
import { errorType } from "./value-kind.ts";

export type App = "control_plane" | "pep";

/** Span facts, counts and log line of one event. */
interface EventOf<A extends App, Message extends string> {
  /** Set on the span; those that are log fields are in the log line too. */
  readonly facts?: SpanFacts | undefined;
  /** Set on the span alone, and made where it is exported. */
  readonly spanFacts?: (() => SpanFacts) | undefined;
  readonly count?: Counts<A> | undefined;
  readonly observe?: Observations<A> | undefined;
  /** The message is a literal: what varies is in `facts`. */
  readonly log?: readonly [level: LogLevel, message: Message] | undefined;
  /** A caught fault: its class name becomes `error.type`, the span fails. A deny is no error. */
  readonly error?: unknown;
}
export type TelemetryEvent<A extends App, M extends string = string> = EventOf<A, M & StaticText<M>>;

export interface Telemetry<A extends App> {
  /** A span under the caller's trace context, or the root of a new trace. Context that is not used is counted. */
  startSpan(name: SpanName<A>, inbound: TraceHeaders, started?: SpanMoment): Span;
  /** Runs `work` with `span` active: log lines written meanwhile, awaited work included, carry its ids. */
  within<T>(span: Span, work: () => T): T;
  /** Counts, observes and logs; `facts` are those of the log line, which carries the active span's ids. */
  emit<M extends string>(event: TelemetryEvent<A, M>): void;
  /** The same for `span`: sets the facts on it and ends it. */
  finish<M extends string>(span: Span, event: TelemetryEvent<A, M>): void;
  /** Identities as span attributes: pseudonyms, or names where disclosure is on; never both. */
  identify(who: Identities): IdentityFacts;
  readonly metrics: Metrics<A>;
  readonly notice: Notice;
  /** The scrape; of all workers of the deployment where they share a directory. */
  render(): Promise<Rendered>;
  /** Sends what is queued, within `withinMillis` (3000), and writes the last state of the metrics. */
  shutdown(withinMillis?: number): Promise<void>;
}

/** Settings, parsed by the app. */
export interface TelemetryConfig {
  /** `SVC_TELEMETRY_KEY`. */
  readonly key?: string | undefined;
  /** `SVC_DEV`: a missing key is made up, and pseudonyms last until the next start. */
  readonly dev: boolean;
  /** `SVC_TELEMETRY_DISCLOSE_IDENTITIES`. */
  readonly discloseIdentities: boolean;
  /** `SVC_LOG_LEVEL`. */
  readonly logLevel: LogLevel;
  /** Other processes write their lines to the same standard output. */
  readonly sharesOutput?: boolean;
  /** `PROMETHEUS_MULTIPROC_DIR`; the control plane's alone. */
  readonly multiprocessDir?: string | undefined;
  /** The `OTEL_*` settings by name. */
  readonly otel: TracingEnvironment;
}

/** By default the process's own. */
export interface TelemetryIo {
  readonly logDestination?: DestinationStream;
  readonly writeNotice?: (line: string) => void;
  readonly randomKey?: () => string;
  readonly pid?: number;
  readonly now?: () => number;
}

export interface TelemetryOptions<A extends App> {
  readonly app: A;
  readonly version: string;
  readonly config: TelemetryConfig;
  readonly io?: TelemetryIo;
}

/** Outside `SVC_DEV` the pseudonym key must be given: a made-up one would break grouping at every start. */
export class TelemetryKeyMissing extends Error {
  readonly code = "telemetry_key_missing";
  override readonly name = "TelemetryKeyMissing";
  constructor() {
    super("SVC_TELEMETRY_KEY is required outside SVC_DEV");
  }
}

const serviceNames = { control_plane: "svc-control-plane", pep: "svc-pep" } as const satisfies Record<App, string>;

function keyFrom(config: TelemetryConfig, randomKey: () => string, notice: Notice): string {
  if (config.key) return config.key;
  if (!config.dev) throw new TelemetryKeyMissing();
  notice("a setting is missing; a random telemetry key is used until the next start", ["SVC_TELEMETRY_KEY"]);
  return randomKey();
}

const shareOver = (metrics: Metrics<App>, app: App, config: TelemetryConfig, io: TelemetryIo) =>
  config.multiprocessDir === undefined || app !== "control_plane"
    ? undefined
    : shareMetrics({
        dir: config.multiprocessDir,
        registry: metrics.registry,
        pid: io.pid ?? process.pid,
        startedAt: io.now?.() ?? Date.now(),
      });

const toStandardError = (line: string): void => void process.stderr.write(`${line}\n`);

/** @throws {TelemetryKeyMissing} and, where the multi-process directory cannot be written, the system's error */
export function createTelemetry<A extends App>(options: TelemetryOptions<A>): Telemetry<A>;
export function createTelemetry({ app, version, config, io = {} }: TelemetryOptions<App>): Telemetry<App> {
  const { writeNotice = toStandardError, randomKey = () => randomBytes(32).toString("base64url") } = io;
  const disclose = config.discloseIdentities;
  const active = new AsyncLocalStorage<Span>();

  const metrics = createMetrics<App>(app, version);
  metrics.set("svc_telemetry_identity_disclosure", disclose ? 1 : 0);

  const writeLog = createLogWriter({
    component: app,
    level: config.logLevel,
    destination: io.logDestination,
    sharesOutput: config.sharesOutput,
    activeSpan: () => active.getStore(),
    onLost: () => metrics.inc("svc_telemetry_dropped_total", { signal: "log" }),
  });
  const notice = createNotice(writeLog, writeNotice);
  const identify = createIdentities(keyFrom(config, randomKey, notice), disclose);
  const tracing = createTracing<App>({
    serviceName: serviceNames[app],
    version,
    env: config.otel,
    disclose,
    notice,
    onDropped: (spans) => metrics.inc("svc_telemetry_dropped_total", { signal: "span" }, spans),
    onOutage: (error) =>
      writeLog("warn", "spans cannot be exported and are lost until the collector takes them", {
        "error.type": errorType(error),
      }),
  });
  const shared = shareOver(metrics, app, config, io);

  const record = (event: EventOf<App, string>, span?: SpanIds) => {
    const { facts = {}, count, observe, log, error } = event;
    if (count) metrics.incEach(count);
    if (observe) metrics.observeEach(observe);
    if (log) writeLog(log[0], log[1], error === undefined ? facts : { ...facts, "error.type": errorType(error) }, span);
  };

  return {
    startSpan(name, inbound, started) {
      const { parent, rejected, baggageDropped } = readTraceContext(inbound);
      if (rejected) metrics.inc("svc_trace_context_rejected_total", { cause: rejected });
      if (baggageDropped) metrics.inc("svc_trace_context_rejected_total", { cause: "baggage_dropped" });
      return tracing.startSpan(name, parent, started);
    },
    within: (span, work) => active.run(span, work),
    emit: (event) => record(event),
    finish(span, event) {
      if (event.facts) span.set(event.facts);
      if (event.spanFacts) span.set(event.spanFacts);
      if (event.error !== undefined) span.fail(event.error);
      record(event, span);
      span.end();
    },
    identify,
    metrics,
    notice,
    render: () => (shared ?? metrics).render(),
    async shutdown(withinMillis = 3000) {
      await tracing.shutdown(withinMillis);
      await shared?.close();
    },
  };
}

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Attributes = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the root of a trace. */
  readonly parentSpanId: string | undefined;
  readonly attributes: Attributes;
  /** OTLP fields that the service must leave empty: events, links, a trace state, a status message. */
  readonly extras: readonly unknown[];
  readonly hasFailed: boolean;
  /** Of the sending process. */
  readonly resource: Attributes;
}

/** Receives spans over OTLP/HTTP with JSON bodies, like a collector. */
export interface SpanReceiver {
  /** The settings of a process that sends its spans here, soon after they end. */
  readonly env: Readonly<Record<string, string>>;
  readonly spans: readonly ReceivedSpan[];
  /** Everything received, unparsed. */
  text(): string;
  stop(): Promise<void>;
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString("utf8");
    bodies.push(body);
    spans.push(...readSpans(body));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "50" },
    spans,
    text: () => bodies.join("\n"),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

type OtlpAttributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpAttributes };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly attributes: OtlpAttributes;
  readonly events: readonly unknown[];
  readonly links: readonly unknown[];
  readonly status: { readonly code?: number; readonly message?: string };
}

const attributesOf = (attributes: OtlpAttributes): Attributes =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** `STATUS_CODE_ERROR`. */
const failed = 2;

const readSpans = (body: string): readonly ReceivedSpan[] =>
  (JSON.parse(body) as OtlpTraces).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, attributes, events, links, traceState, status }) => ({
        name,
        traceId,
        spanId,
        parentSpanId: parentSpanId || undefined,
        attributes: attributesOf(attributes),
        extras: [...events, ...links, ...[traceState, status.message].filter(Boolean)],
        hasFailed: status.code === failed,
        resource: attributesOf(resource.attributes),
      })),
    ),
  );

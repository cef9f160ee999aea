import type { Attributes } from "@opentelemetry/api";
import type { OTLPExporterBase } from "@opentelemetry/otlp-exporter-base";
import { sdk } from "./tracing-environment.ts";

/** A span as it is sent: a comma and its JSON. */
export interface JsonSpan {
  readonly json: Uint8Array;
}

export type JsonSpanExporter = OTLPExporterBase<readonly JsonSpan[]>;

/** What all spans of a process share. */
export interface Envelope {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
}

const textAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));

/** An `ExportTraceServiceRequest` in OTLP's JSON, around spans that are JSON already. */
function requestSerializer({ resource, scope }: Envelope) {
  const whole = JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: textAttributes(resource), droppedAttributesCount: 0 },
        scopeSpans: [{ scope, spans: [] }],
      },
    ],
  });
  const listStart = whole.lastIndexOf("[]") + 1;
  const [head, tail] = [Buffer.from(whole.slice(0, listStart)), Buffer.from(whole.slice(listStart))];
  const unseparated = ({ json }: JsonSpan, index: number) => (index === 0 ? json.subarray(1) : json);
  return {
    serializeRequest: (spans: readonly JsonSpan[]): Uint8Array =>
      Buffer.concat([head, ...spans.map(unseparated), tail]),
    // Read for a diagnostic log alone, which is off.
    deserializeResponse: () => ({}),
  };
}

/**
 * OpenTelemetry's exporter without its serializer, which makes five objects of each attribute: with it a hop of three
 * spans took 11 us more (test/bench/README.md#what-telemetry-costs).
 */
export function jsonSpanExporter(url: string, envelope: Envelope): JsonSpanExporter {
  const { createOtlpHttpExportDelegate, convertLegacyHttpOptions } = sdk.otlpHttp();
  const options = convertLegacyHttpOptions({ url }, "TRACES", "v1/traces", { "Content-Type": "application/json" });
  const ownMetrics = { name: "span", countItems: (spans: readonly JsonSpan[]) => spans.length } as const;
  return new (sdk.otlp().OTLPExporterBase)(
    createOtlpHttpExportDelegate(
      options,
      requestSerializer(envelope),
      "otlp_http_span_exporter",
      ownMetrics,
      undefined,
    ),
  );
}

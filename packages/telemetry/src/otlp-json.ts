import type { Attributes } from "@opentelemetry/api";
import type { ExportResult } from "@opentelemetry/core";
import type { KeptText } from "./span-blocks.ts";
import { sdk } from "./tracing-environment.ts";

/** A span as it is sent: a comma and its JSON. */
export interface JsonSpan {
  readonly json: KeptText;
}

export interface JsonSpanExporter {
  /** Has read the spans when it returns. */
  export(spans: readonly JsonSpan[], done: (result: ExportResult) => void): void;
  shutdown(): Promise<void>;
}

/** What all spans of a process share. */
export interface Envelope {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
}

const textAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));

/** A full batch takes some 900 KiB. */
const minRequestBytes = 1024 * 1024;

/** An `ExportTraceServiceRequest` in OTLP's JSON, around spans that are JSON already. */
export function requestSerializer({ resource, scope }: Envelope) {
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
  const sizeOf = (spans: readonly JsonSpan[]) =>
    spans.reduce((size, { json }) => size + json.end - json.start, head.length + tail.length);
  /** Of a request that was answered. It is used again, as the spans' own memory is. */
  let spare: Buffer | undefined;
  let lent: Buffer | undefined;
  return {
    serializeRequest(spans: readonly JsonSpan[]): Uint8Array {
      const size = sizeOf(spans);
      const bytes = spare && spare.length >= size ? spare : Buffer.allocUnsafeSlow(Math.max(size, minRequestBytes));
      spare = undefined;
      let end = head.copy(bytes);
      for (const [index, { json }] of spans.entries()) {
        end += json.block.bytes.copy(bytes, end, index === 0 ? json.start + 1 : json.start, json.end);
      }
      end += tail.copy(bytes, end);
      lent = bytes;
      return bytes.subarray(0, end);
    },
    // Read for a diagnostic log alone, which is off.
    deserializeResponse: () => ({}),
    /** How to give back the memory of the request that was made last. */
    giveBackLater() {
      const bytes = lent;
      return () => {
        spare = bytes;
      };
    },
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
  const serializer = requestSerializer(envelope);
  const exporter = new (sdk.otlp().OTLPExporterBase)(
    createOtlpHttpExportDelegate(options, serializer, "otlp_http_span_exporter", ownMetrics, undefined),
  );
  const { ExportResultCode } = sdk.core();
  return {
    export(spans, done) {
      let giveBack = () => {};
      exporter.export(spans, (result) => {
        // A request that failed may still be on its way out.
        if (result.code === ExportResultCode.SUCCESS) giveBack();
        done(result);
      });
      giveBack = serializer.giveBackLater();
    },
    shutdown: () => exporter.shutdown(),
  };
}

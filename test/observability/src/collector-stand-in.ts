import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Counter, Histogram, Registry } from "prom-client";
import { parse } from "yaml";

/**
 * In place of an OpenTelemetry collector, which no package registry has: reads the shipped configuration and makes the
 * metrics that its span metrics connector makes of these settings.
 */
export interface CollectorStandIn {
  /** Where processes send spans. */
  readonly otlpUrl: string;
  /** `host:port` to scrape. */
  readonly target: string;
  stop(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface Span {
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly Attribute[];
}

/** An OTLP trace export request in JSON. */
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const statuses = ["UNSET", "OK", "ERROR"];
const secondsOf = { us: 1e-6, ms: 1e-3, s: 1 };

export async function startCollectorStandIn(): Promise<CollectorStandIn> {
  const metrics = await spanMetrics();
  const server = createServer(async (request, response) => {
    if (request.method === "POST") metrics.take(await exported(request));
    response.end(request.method === "POST" ? "{}" : await metrics.text());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    otlpUrl: `http://${target}`,
    target,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const exported = async (request: IncomingMessage): Promise<Export> => (await json(request)) as Export;

/** By the connector's naming: the dots of names and dimensions become underscores. */
async function spanMetrics() {
  const file = await readFile(new URL("../../../deploy/compose/collector.yaml", import.meta.url), "utf8");
  const { namespace, histogram, dimensions } = parse(file).connectors.spanmetrics;
  const further: readonly string[] = dimensions.map(({ name }: { name: string }) => name);
  const prefix = snake(namespace);
  const labelNames = ["service_name", "span_name", "span_kind", "status_code", ...further.map(snake)];
  const registers = [new Registry()];
  const calls = new Counter({ name: `${prefix}_calls_total`, help: "Spans.", labelNames, registers });
  const duration = new Histogram({
    name: `${prefix}_duration_seconds`,
    help: "Their durations.",
    labelNames,
    buckets: histogram.explicit.buckets.map(toSeconds),
    registers,
  });
  const take = (service: string, { name, kind, status, attributes, ...span }: Span): void => {
    const labels = {
      service_name: service,
      span_name: name,
      span_kind: `SPAN_KIND_${kinds[kind]}`,
      status_code: `STATUS_CODE_${statuses[status.code ?? 0]}`,
      ...Object.fromEntries(further.map((dimension) => [snake(dimension), textOf(attributes, dimension)])),
    };
    calls.inc(labels);
    duration.observe(labels, Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e9);
  };
  return {
    take({ resourceSpans }: Export): void {
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = textOf(resource.attributes, "service.name");
        for (const span of scopeSpans.flatMap(({ spans }) => spans)) take(service, span);
      }
    },
    text: async () => (await Promise.all(registers.map((each) => each.metrics()))).join(""),
  };
}

const snake = (name: string): string => name.replaceAll(".", "_");

const textOf = (attributes: readonly Attribute[], name: string): string =>
  attributes.find(({ key }) => key === name)?.value.stringValue ?? "";

function toSeconds(duration: string): number {
  const [, amount, unit] = /^(\d+)(us|ms|s)$/.exec(duration) ?? [];
  return Number(amount) * secondsOf[unit as keyof typeof secondsOf];
}

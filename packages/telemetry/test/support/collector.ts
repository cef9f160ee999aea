import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly boolValue?: boolean;
}
interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}
interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly traceState?: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly unknown[];
  readonly links: readonly unknown[];
  readonly status: { readonly code?: number; readonly message?: string };
}
interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export interface Collector {
  readonly url: string;
  /** Requested paths, in order. */
  readonly paths: string[];
  /** Raw bodies, in order. */
  readonly bodies: string[];
  spans(): OtlpSpan[];
  resources(): Record<string, unknown>[];
  /** Of its responses; undefined never responds. */
  status: number | undefined;
  close(): Promise<void>;
}

const textOf = async (request: IncomingMessage) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

export const attributesOf = (attributes: readonly OtlpAttribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** An OTLP receiver over HTTP with JSON bodies, on a free loopback port. */
export async function startCollector(): Promise<Collector> {
  const paths: string[] = [];
  const bodies: string[] = [];
  const requests = () => bodies.map((body) => JSON.parse(body) as OtlpRequest).flatMap((body) => body.resourceSpans);
  const server = createServer(async (request, response) => {
    paths.push(request.url ?? "");
    bodies.push(await textOf(request));
    if (collector.status === undefined) return;
    response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    bodies,
    spans: () => requests().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resources: () => requests().map(({ resource }) => attributesOf(resource.attributes)),
    status: 200,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

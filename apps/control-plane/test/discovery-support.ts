import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Discovered, DiscoverySource, SourceAnswer } from "@svc/core";
import { expect, onTestFinished } from "vitest";
import { createDiscover, type DiscoverySettings } from "../src/discovery/discover.ts";

export async function serve(handler: RequestListener): Promise<{ url: string; port: number; server: Server }> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, server };
}

export const loopback = [{ kind: "network", network: "127.0.0.0", prefix: 8 }] as const;

type Settings = Partial<DiscoverySettings>;

async function answerOf(source: DiscoverySource, settings: Settings): Promise<SourceAnswer> {
  const [answer] = await createDiscover({ allowed: loopback, ...settings })([source]);
  if (answer === undefined) throw new Error("each source has an answer");
  expect(answer.source).toBe(source);
  return answer;
}

/** Without the definitions of its tools. */
export async function discover(source: DiscoverySource, settings: Settings = {}): Promise<Discovered> {
  const { discovered } = await answerOf(source, settings);
  return { ...discovered, tools: discovered.tools?.map(({ definition: _, ...tool }) => tool) } as Discovered;
}

/** By ref. */
export async function definitionsOf(source: DiscoverySource) {
  const { discovered } = await answerOf(source, {});
  return new Map(discovered.tools?.map(({ ref, definition }) => [ref, definition]));
}

/** How it was read. */
export const factsOf = async (source: DiscoverySource, settings: Settings = {}): Promise<SourceAnswer["facts"]> =>
  (await answerOf(source, settings)).facts;

export const http = (url: string): DiscoverySource => ({ kind: "http", url });
export const remedyOf = (discovered: Discovered): string => (discovered.ok ? "none" : discovered.remedy);
export const answerJson =
  (body: unknown): RequestListener =>
  (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  };

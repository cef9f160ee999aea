import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlane,
  type EchoUpstream,
  type EnforcementPoint,
  type ReceivedRequest,
  startEchoUpstream,
  startEnforcementPoint,
  type TestDatabase,
} from "@svc/test-support";
import type { Api } from "../src/api.ts";
import { startOne } from "../src/stack.ts";

/** A real control plane and enforcement point, with one upstream that records its requests. */
export interface Stand {
  readonly api: Api;
  readonly controlPlane: ControlPlane;
  readonly database: TestDatabase;
  readonly enforcementPoint: EnforcementPoint;
  readonly port: number;
  readonly upstream: Pick<EchoUpstream, "url" | "received"> & {
    readonly requests: readonly ReceivedRequest[];
    /** Sets its response from now on. */
    answerWith(respond: Respond): void;
  };
  /** The value of one of the enforcement point's series. */
  metric(series: string): Promise<number>;
  stop(): Promise<void>;
}

export type Respond = (response: ServerResponse) => void;

export interface StandOptions {
  /** The one agent's, by scope. */
  readonly scopes: Record<string, unknown>;
  /** Entries of the upstreams file, given the upstream's address. */
  readonly upstreams: (url: string, folder: string) => readonly unknown[];
  readonly controlPlane?: Readonly<Record<string, string>>;
  readonly enforcementPoint?: Readonly<Record<string, string>>;
}

export const plain: Respond = (response) => {
  response.writeHead(200, { "content-type": "text/plain", connection: "close" }).end("done");
};

export async function openStand(options: StandOptions): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), "svc-pep-"));
  const { api, controlPlane, database, stop } = await startOne(options.controlPlane);
  let respond = plain;
  const upstream = await startEchoUpstream((_request, response) => respond(response));
  const configFile = join(folder, "pep.json");
  writeFileSync(configFile, JSON.stringify({ upstreams: options.upstreams(upstream.url, folder) }));
  const registered = await api.attest("courier", options.scopes);
  if (registered.status !== 201) throw new Error(`registration: ${registered.status} ${registered.text}`);
  const enforcementPoint = await startEnforcementPoint(api.url, configFile, {
    // No call is open when a test ends.
    SVC_PEP_GRACE_SECONDS: "0",
    ...options.enforcementPoint,
  });
  return {
    api,
    controlPlane,
    database,
    enforcementPoint,
    port: Number(new URL(enforcementPoint.url).port),
    upstream: {
      url: upstream.url,
      requests: upstream.requests,
      received: () => upstream.received(),
      answerWith(next) {
        respond = next;
      },
    },
    async metric(series) {
      const text = await (await fetch(`${enforcementPoint.adminUrl}/__svc/metrics`)).text();
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    },
    async stop() {
      await enforcementPoint.stop();
      await Promise.all([upstream.stop(), stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { BlockCause } from "@svc/core";
import type { Stand } from "@svc/test-conformance/stand";
import type { FaultProxy, OwnRedis } from "@svc/test-support";
import { refuseConnections, withholdMints } from "./stores.ts";

/** The breakable dependencies of an enforcement point. */
export interface Surroundings {
  readonly stand: Stand;
  /** Between the enforcement point and its control plane. */
  readonly line: FaultProxy;
  /** The control plane's cache store. */
  readonly redis: OwnRedis;
  readonly stateDir: string;
}

/** A call that must be blocked. */
export interface Provoked {
  readonly cause: BlockCause;
  /** Its cause. */
  readonly by: string;
  readonly path: string;
  readonly body?: string;
  readonly status: number;
  readonly isAnonymous?: true;
  /** Breaks a dependency for the time of the call; resolves with the repair. */
  readonly fault?: (around: Surroundings) => Promise<() => unknown>;
  /** Its session has called before, so that no token must be renewed through the broken dependency. */
  readonly isWarm?: true;
  /** Whether it has a decision. */
  readonly isDecided?: true;
}

const page = "<html>maintenance</html>";

/** Replaces any response of the control plane by this page. */
const answering =
  (path: string) =>
  async ({ line }: Surroundings) => {
    const head = `HTTP/1.1 200 Replaced\r\ncontent-type: application/json\r\ncontent-length: ${page.length}`;
    line.spoil(`POST ${path}`, { kind: "replaced", by: `${head}\r\n\r\n${page}` });
    return line.heal;
  };

async function refuseTheLine({ line }: Surroundings) {
  await line.refuse();
  return line.accept;
}

/** Renewed tokens must be stored before use, and here they cannot be. */
async function loseStateDir({ stateDir }: Surroundings) {
  renameSync(stateDir, `${stateDir}.away`);
  writeFileSync(stateDir, "");
  return () => {
    rmSync(stateDir);
    renameSync(`${stateDir}.away`, stateDir);
  };
}

async function stopTheProcess({ stand }: Surroundings) {
  stand.controlPlane.kill("SIGSTOP");
  return () => stand.controlPlane.kill("SIGCONT");
}

async function stopRedis({ redis }: Surroundings) {
  redis.freeze();
  return redis.thaw;
}

const read = { path: "/read" } as const;
const write = { path: "/write", body: '{"a":1}' } as const;

/** Every cause; those of the control plane by a broken connection and by its own failure. */
export const provoked: readonly Provoked[] = [
  { cause: "policy", by: "an undeclared target", path: "/denied", status: 403, isDecided: true },
  { cause: "unauthorized", by: "no bearer", ...read, status: 401, isAnonymous: true },
  { cause: "unresolvable_call", by: "a path without a route", path: "/nowhere", status: 404 },
  {
    cause: "body_too_large",
    by: "a body over the cap",
    path: "/write",
    body: `{"a":"${"x".repeat(200)}"}`,
    status: 413,
    isDecided: true,
  },
  { cause: "unbindable", by: "a repeated member", path: "/write", body: '{"a":1,"a":2}', status: 422, isDecided: true },
  { cause: "other", by: "a missing state folder", ...read, status: 500, fault: loseStateDir },
  { cause: "pdp_unreachable", by: "a broken connection", ...read, status: 503, fault: refuseTheLine },
  {
    cause: "pdp_unreachable",
    // The first call: a later one is one trip, which may have been spent (exchange_unreachable).
    by: "a stopped process",
    ...read,
    status: 503,
    fault: stopTheProcess,
  },
  {
    cause: "audit_unavailable",
    by: "a database that refuses connections",
    ...read,
    status: 503,
    isWarm: true,
    fault: ({ stand }) => refuseConnections(stand),
  },
  {
    cause: "exchange_unreachable",
    by: "an HTML response",
    ...read,
    status: 503,
    isDecided: true,
    fault: answering("/v1/token/exchange"),
  },
  {
    cause: "exchange_unreachable",
    by: "a stopped cache store",
    ...read,
    status: 503,
    isDecided: true,
    isWarm: true,
    fault: stopRedis,
  },
  {
    cause: "mint_unreachable",
    by: "an HTML response",
    ...write,
    status: 503,
    isDecided: true,
    fault: answering("/v1/token/transaction"),
  },
  {
    cause: "mint_unreachable",
    by: "a database that cannot record the mint",
    ...write,
    status: 503,
    isDecided: true,
    isWarm: true,
    fault: ({ stand }) => withholdMints(stand),
  },
];

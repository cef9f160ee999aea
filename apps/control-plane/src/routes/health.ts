import { type ErrorCode, livenessRead, readinessRead } from "@svc/core";
import { z } from "zod";
import { failingProbes, type ProbeName } from "../commands/readiness.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { route } from "../http/route.ts";
import { iso } from "../http/times.ts";
import { singleFlight } from "../ports/single-flight.ts";
import type { Deps } from "./deps.ts";

const tag = "Health";

/** Without credentials: they say whether the process serves, and which store it cannot reach, no more. */
export function healthRoutes(app: App, deps: Deps): void {
  route(app, deps, "GET /livez", {
    access: "none",
    tag,
    summary: "The process is up.",
    reply: { description: "It is.", schema: livenessRead },
    errors: [],
    handle: () => ({ status: "ok" as const }),
  });

  const unready = singleFlight(() => failingProbes(deps.probes));
  route(app, deps, "GET /readyz", {
    access: "none",
    tag,
    summary: "Database and cache store answered just now, and no restore waits to be acknowledged.",
    reply: {
      description: "They did; when housekeeping was last done, and from when the oldest row is that is not sealed.",
      schema: readinessRead,
    },
    errors: ["database_unavailable", "guard_unavailable", "restore_unacknowledged", "draining"],
    handle: async () => {
      const [first, ...others] = await unready();
      if (first !== undefined) throw notReady([first, ...others]);
      const housekeeping = { lastRun: isoOrNull(deps.lastHousekeepingMs()) };
      return { status: "ok" as const, housekeeping, sealing: { oldestUnsealed: isoOrNull(deps.oldestUnsealedMs()) } };
    },
  });

  route(app, deps, "GET /metrics", {
    access: "none",
    tag,
    summary: "Metrics in the Prometheus text format.",
    reply: { description: "Every series.", schema: z.string(), mediaType: "text/plain" },
    errors: [],
    handle: async () => {
      const { contentType, body } = await deps.renderMetrics();
      return new Response(body, { headers: { "Content-Type": contentType, "Cache-Control": "no-store" } });
    },
  });
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

const codeOf = {
  database: "database_unavailable",
  cache_store: "guard_unavailable",
  restore: "restore_unacknowledged",
  draining: "draining",
} as const satisfies Record<ProbeName, ErrorCode>;

const acknowledging =
  'The database is older than one that was served before: follow "Backup and restore" in deploy/README.md up to ' +
  "POST /v1/issuer-epoch, which acknowledges it.";

/** The code is that of the first; `details.failing` names them all. */
function notReady(failing: readonly [ProbeName, ...ProbeName[]]): ApiError {
  const advice = failing.includes("restore") ? ` ${acknowledging}` : "";
  return new ApiError(codeOf[failing[0]], `Not ready: ${failing.join(", ")}.${advice}`, { details: { failing } });
}

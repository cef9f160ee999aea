import { type ErrorCode, livenessRead, plainText, readinessRead } from "@svc/core";
import { failingProbes, type ProbeName } from "../commands/readiness.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { routesOf } from "../http/routes.ts";
import { iso } from "../http/times.ts";
import { singleFlight } from "../ports/single-flight.ts";
import type { Deps } from "./deps.ts";

/** Without credentials: they say whether the process serves, and which store it cannot reach, no more. */
export function healthRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Health");
  route("GET /livez", {
    access: "none",
    summary: "The process is up.",
    reply: { description: "It is.", schema: livenessRead },
    errors: [],
    handle: () => ({ status: "ok" as const }),
  });

  const unready = singleFlight(() => failingProbes(deps.probes));
  route("GET /readyz", {
    access: "none",
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

  route("GET /metrics", {
    access: "none",
    summary: "Metrics in the Prometheus text format.",
    reply: { description: "Every series.", schema: plainText, mediaType: "text/plain" },
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

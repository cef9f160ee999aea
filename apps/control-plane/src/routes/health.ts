import { type ErrorCode, livenessRead, readinessRead } from "@svc/core";
import { z } from "zod";
import { failingProbes, type ProbeName, singleFlight } from "../commands/readiness.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

const tag = "Health";
/** Asked without credentials: they say that the process serves, and whom it cannot reach, no more. */
export function healthRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/livez",
      access: "none",
      tag,
      summary: "The process is up.",
      replies: { 200: { description: "It is.", schema: livenessRead } },
      errors: [],
    },
    ({ c }) => c.json({ status: "ok" }),
  );

  const unready = singleFlight(() => failingProbes(deps.probes));
  mount(
    app,
    deps,
    {
      method: "get",
      path: "/readyz",
      access: "none",
      tag,
      summary: "Database and cache store answered just now, and no restore waits to be acknowledged.",
      replies: {
        200: {
          description: "They did; when housekeeping was last done, and from when the oldest row is that is not sealed.",
          schema: readinessRead,
        },
      },
      errors: ["database_unavailable", "guard_unavailable", "restore_unacknowledged", "draining"],
    },
    async ({ c }) => {
      const [first, ...others] = await unready();
      if (first !== undefined) throw notReady([first, ...others]);
      const housekeeping = { last_run: shown(deps.lastHousekeepingMs()) };
      return c.json({ status: "ok", housekeeping, sealing: { oldest_unsealed: shown(deps.oldestUnsealedMs()) } });
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: "/metrics",
      access: "none",
      tag,
      summary: "Metrics in the Prometheus text format.",
      replies: { 200: { description: "Every series.", schema: z.string(), mediaType: "text/plain" } },
      errors: [],
    },
    async ({ c }) => {
      const { contentType, body } = await deps.renderMetrics();
      return c.body(body, 200, { "Content-Type": contentType });
    },
  );
}

const shown = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

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
function notReady([first, ...others]: readonly [ProbeName, ...ProbeName[]]): ApiError {
  const failing = [first, ...others];
  const advice = failing.includes("restore") ? ` ${acknowledging}` : "";
  return new ApiError(codeOf[first], `Not ready: ${failing.join(", ")}.${advice}`, { details: { failing } });
}

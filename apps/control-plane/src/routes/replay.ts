import { replayPage, replayRequest } from "@svc/core";
import type { BodyOf } from "../commands/deps.ts";
import { type Change, type Replayed, type ReplayPosition, replay } from "../commands/replay.ts";
import { ApiError, requireKind } from "../http/api-error.ts";
import { requireCursor, sealCursor } from "../http/page.ts";
import { type App, routesOf } from "../http/routes.ts";
import { iso } from "../http/times.ts";
import type { Deps } from "./deps.ts";

const path = "/v1/audit/replay";

export function replayRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Audit");
  route(`POST ${path}`, {
    access: "audit",
    summary: "Decide recorded decisions again under a candidate manifest; nothing is stored.",
    body: replayRequest,
    reply: { description: "What would change, of one piece of the log, newest first.", schema: replayPage },
    errors: ["scope_not_found", "policy_version_changed", "policy_too_large", "database_unavailable"],
    async handle({ body: { cursor, since: sinceMs, until: untilMs, ...asked } }) {
      const use = { route: path, filter: filterOf({ ...asked, sinceMs, untilMs }) };
      const position = requireCursor(deps.cursorKey, use, cursor);
      const after = position === undefined ? undefined : decodePosition(position);
      const replayed = requireKind(await replay(deps, { ...asked, sinceMs, untilMs, after }), "replayed", refusals);
      const { next, last, read, judged, changes } = replayed;
      return {
        changes: changes.map(toBody),
        ...{ read, judged },
        oldestTs: last && iso(last.atMs),
        nextCursor: next && sealCursor(deps.cursorKey, use, encodePosition(next)),
      };
    },
  });
}

const refusals = {
  scope_not_found: "Neither the candidate nor the agent's accepted manifest touches this scope.",
  policies_changed: () =>
    new ApiError(
      "policy_version_changed",
      "The candidate, or a manifest of its scopes, is no longer that of the page before: replay from the start.",
    ),
  policy_too_large: ({ scope, branchingAgents }: Extract<Replayed, { kind: "policy_too_large" }>) =>
    new ApiError("policy_too_large", "A scope would have more than 10,000 delegation paths.", {
      details: { scope, branching_agents: branchingAgents },
    }),
};

type Asked = Omit<BodyOf<typeof replayRequest>, "cursor" | "since" | "until" | "manifest"> & {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
};

/** The candidate is in the position, by the policies that it makes. */
const filterOf = ({ agent, scope, actingAgent, sinceMs, untilMs }: Asked): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ agent, scope, actingAgent, sinceMs, untilMs }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );

const encodePosition = ({ seq, policies }: ReplayPosition): string => `${seq} ${policies}`;

function decodePosition(position: string): ReplayPosition {
  const [seq = "", policies = ""] = position.split(" ");
  return { seq: BigInt(seq), policies };
}

const toBody = ({ actingAgent, firstMs, lastMs, ...change }: Change) => ({
  ...change,
  agent: actingAgent,
  firstTs: iso(firstMs),
  lastTs: iso(lastMs),
});

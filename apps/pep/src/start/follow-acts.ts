import type { RenewalPool } from "@svc/hop";
import { followPush, PushFault, type PushPorts, pushConcernsMs, type SentEvent } from "@svc/tokens";
import type { CallsUnderWay } from "../decide/calls-under-way.ts";
import { concernOf, isOver } from "../decide/pushed-acts.ts";
import type { Config } from "./config.ts";

interface FollowActs {
  readonly push: PushPorts;
  readonly underWay: CallsUnderWay;
  readonly pool: RenewalPool;
  readonly onSessionEnd: (sessionId: string) => void;
  readonly log: (line: string) => void;
}

/** Follows the push (docs/reference/enforcement-point.md#pushed-acts) under the enforcement plane's bearer. @returns ends it */
export function followActs(
  { controlPlane: { url }, enforcementToken: token }: Config,
  { push, underWay, pool, onSessionEnd, log }: FollowActs,
): () => void {
  if (token === undefined) return () => {};
  const stopping = new AbortController();
  const operator = reportOnce(log);

  const take = (event: SentEvent): void => {
    operator.received();
    const act = concernOf(event);
    if (act === undefined) return;
    const concerned = underWay.take(act);
    pool.endRenewals((presented) => isOver(act, presented));
    // Else the decision on its call ends the session, and the agent learns why.
    if (act.kind === "session" && concerned === 0) onSessionEnd(act.ref);
  };
  const follow = async () => {
    const events = followPush(push, {
      url: `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1/identity/revocations/stream`,
      token,
      sinceMs: () => Date.now() - pushConcernsMs,
      signal: stopping.signal,
      onFailure: operator.failed,
    });
    for await (const event of events) take(event);
  };
  void follow();
  return () => stopping.abort();
}

/** One line when the push fails, and one when it is back. */
function reportOnce(log: (line: string) => void) {
  let isDown = false;
  return {
    failed(error: unknown): void {
      if (!isDown) log(`WARNING: ${downLine(error)}`);
      isDown = true;
    },
    received(): void {
      if (isDown) log("The push is received again.");
      isDown = false;
    },
  };
}

const downLine = (error: unknown): string => {
  const why = error instanceof PushFault ? error.message : "push: no connection to the control plane";
  const remedy = error instanceof PushFault && error.status === 401 ? "; check SVC_PEP_ENFORCEMENT_TOKEN" : "";
  return `${why}${remedy}. Until it is received, an act ends calls under way by the decision of each minute.`;
};

import { revokeSession } from "../commands/sessions.ts";
import type { Grant } from "../ports/consents.ts";
import type { ConsentDeps } from "./consent-deps.ts";

/** Ends the session of a grant, and those beside it: every token that came of it is refused from now on. */
export async function endGrant(
  deps: ConsentDeps,
  { session }: Grant,
  ending: { readonly by: string; readonly reason: string },
): Promise<void> {
  const beside = await deps.consents.besideOf({ sessionId: session.sessionId, nowMs: deps.clock.nowMs() });
  for (const { sessionId } of [session, ...beside.map((each) => each.session)]) {
    const revoked = await revokeSession(deps, sessionId, ending);
    if (revoked?.ended) deps.events.administered("session_revoked", sessionId);
  }
}

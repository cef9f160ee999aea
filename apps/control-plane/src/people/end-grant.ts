import { revokeSession } from "../commands/sessions.ts";
import type { Grant } from "../ports/consents.ts";
import type { ConsentDeps } from "./consent-deps.ts";

/** Ends the session of a grant, and with it those beside: every token that came of it is refused from now on. */
export async function endGrant(
  deps: ConsentDeps,
  { session: { sessionId } }: Grant,
  ending: { readonly by: string; readonly reason: string },
): Promise<void> {
  const revoked = await revokeSession(deps, sessionId, ending);
  if (revoked?.ended) deps.events.administered("session_revoked", sessionId);
}

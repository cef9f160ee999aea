import type { AllowedSession } from "@svc/console";
import { isUuid } from "../commands/identifier.ts";
import { endSessions, revokeSession } from "../commands/sessions.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import type { SignedIn } from "./signed-in.ts";

const shownSessions = 20;
const shownDecisions = 20;

/** The person's newest consents, with what was done with each. */
export async function mine({ audit, clock }: ConsentDeps, { subject }: SignedIn) {
  const query = { filter: { userSub: subject }, after: undefined, limit: shownSessions + 1, nowMs: clock.nowMs() };
  const found = await audit.sessions(query);
  const sessions = await Promise.all(
    found.slice(0, shownSessions).map(async (session): Promise<AllowedSession> => {
      const filter = { sessionId: session.facts.sessionId };
      const { rows } = await audit.decisions({ filter, after: undefined, limit: shownDecisions });
      return { ...session, decisions: rows.map(({ record }) => record) };
    }),
  );
  return { sessions, more: found.length > shownSessions };
}

/** Ends one of the person's sessions, or all. True if it ended any; it ends no other person's. */
export async function endMine(
  deps: ConsentDeps,
  { subject }: SignedIn,
  fields: ReadonlyMap<string, string>,
): Promise<boolean> {
  const by = { by: subject, reason: "ended by the person" };
  if (fields.get("all") === "yes") return (await endSessions(deps, { userSub: subject }, by)) > 0;
  const sessionId = fields.get("session") ?? "";
  const facts = isUuid(sessionId) ? await deps.sessions.find(sessionId) : undefined;
  if (facts?.userSub !== subject) return false;
  return (await revokeSession(deps, sessionId, by))?.ended ?? false;
}

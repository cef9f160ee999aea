import { planConsent } from "../commands/sessions.ts";
import type { Beside, NewSession } from "../ports/consents.ts";
import type { ConsentEvent } from "../ports/sessions.ts";
import type { AskedScope } from "./asked.ts";
import type { ConsentDeps } from "./consent-deps.ts";

interface Plan {
  readonly userSub: string;
  readonly consentedBy: string;
  /** No session lives longer than its scope's own life. Absent: that. */
  readonly ttlSeconds?: number;
  /** The session for whose sake they are; absent: the first one is that of the others. */
  readonly beside?: Omit<Beside, "agent"> | undefined;
  /** For the record, beside agent and session. */
  readonly details: NonNullable<ConsentEvent["details"]>;
}

/** A session for each scope as it was asked; undefined where a policy changed meanwhile. It stores nothing. */
export async function planSessions(
  deps: ConsentDeps,
  asked: readonly AskedScope[],
  { userSub, consentedBy, ttlSeconds, details, ...plan }: Plan,
): Promise<readonly NewSession[] | undefined> {
  const sessions: NewSession[] = [];
  let forSakeOf = plan.beside;
  for (const { scope, policyVersion, agent, ttlSeconds: longest } of asked) {
    const life = Math.min(ttlSeconds ?? longest, longest);
    const planned = await planConsent(deps, { scope, userSub, consentedBy, policyVersion, ttlSeconds: life });
    if (planned.kind !== "planned") return undefined;
    const { session: facts, policyHash } = planned;
    const beside = forSakeOf && { ...forSakeOf, agent };
    const event = {
      eventId: deps.ids.next(),
      policyHash,
      details: { agent, ...details, ...(beside && { beside: beside.sessionId }) },
    };
    sessions.push({ facts, event, beside });
    forSakeOf ??= { sessionId: facts.sessionId, holder: agent };
  }
  return sessions;
}

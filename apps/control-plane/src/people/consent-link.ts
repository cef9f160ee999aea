import type { DecisionRecord, Explanation } from "@svc/core";
import type { Authorized } from "../commands/hop/authorize.ts";
import { isRunning } from "./answer.ts";
import type { ConsentDeps } from "./consent-deps.ts";

/** Of a link: the agent that tries again is given a new one. */
export const linkSeconds = 600;

type LinkDeps = Pick<ConsentDeps, "people" | "questions" | "issuer" | "askPerson">;

/**
 * Where the person of the session can admit a call that was denied just now for want of a consent; the webhook tells the
 * person. Undefined for any other result, and where no person can sign in. It stores nothing: the link is sealed.
 */
export async function consentUrlOf(deps: LinkDeps, result: Authorized): Promise<string | undefined> {
  if (deps.people === undefined || result.kind !== "decided" || !isConsentable(result.record)) return undefined;
  const { record, subject, consentableScopes } = result;
  const [scope] = consentableScopes;
  if (scope === undefined) return undefined;
  const url = await linkTo(deps, record, { userSub: subject.sub, scope });
  deps.askPerson?.({ url, userSub: subject.sub, scope, record });
  return url;
}

/** The same of a recorded decision, as long as its session runs. */
export async function consentUrlOfRecord(
  deps: ConsentDeps,
  { record, explanation }: { readonly record: DecisionRecord; readonly explanation: Explanation },
): Promise<string | null> {
  if (deps.people === undefined || !isConsentable(record) || !(await isRunning(deps, record))) return null;
  const session = await deps.sessions.find(record.sessionId);
  const target = explanation.checks.find(({ check }) => check === "target");
  const [scope] = target?.check === "target" ? target.facts.scopes : [];
  if (session === undefined || scope === undefined) return null;
  return linkTo(deps, record, { userSub: session.userSub, scope });
}

/** At hop 1 the person itself called: no agent asks for anything. */
const isConsentable = ({ recoverable, enforced, hop }: DecisionRecord): boolean => recoverable && enforced && hop > 1;

async function linkTo(
  { questions, issuer }: Pick<ConsentDeps, "questions" | "issuer">,
  { sessionId, actingAgent: agent, target, actionId }: DecisionRecord,
  { userSub, scope }: { readonly userSub: string; readonly scope: string },
): Promise<string> {
  const call = { sessionId, agent, target, actionId };
  const ask = await questions.seal("link", { userSub, scope, call }, linkSeconds);
  return new URL(`/consent?${new URLSearchParams({ ask })}`, issuer).href;
}

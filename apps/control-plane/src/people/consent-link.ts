import { callerOfToken, isNarrowed } from "@svc/tokens";
import type { Authorized } from "../commands/hop/authorize.ts";
import type { ConsentDeps } from "./consent-deps.ts";

const linkSeconds = 600;

/**
 * Where the person of the session can admit a call that was denied for want of a consent. Undefined for any other result,
 * and where no person can sign in. It stores nothing: the link is sealed.
 */
export async function consentUrlOf(
  { people, questions, issuer }: Pick<ConsentDeps, "people" | "questions" | "issuer">,
  result: Authorized,
): Promise<string | undefined> {
  if (people === undefined || result.kind !== "decided") return undefined;
  const { record, subject, consentableScopes } = result;
  const [scope] = consentableScopes;
  // At hop 1 the person itself called: no agent asks for anything.
  if (!record.recoverable || !record.enforced || scope === undefined || !isNarrowed(subject)) return undefined;
  const call = {
    sessionId: record.sessionId,
    agent: callerOfToken(subject),
    target: record.target,
    actionId: record.actionId,
  };
  const ask = await questions.seal("link", { userSub: subject.sub, scope, call }, linkSeconds);
  return `${issuer.replace(/\/$/, "")}/consent?${new URLSearchParams({ ask })}`;
}

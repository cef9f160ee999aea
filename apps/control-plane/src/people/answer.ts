import type { NewGrant } from "../ports/consents.ts";
import { type AskedScope, askedOf, shownHash } from "./asked.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { planSessions } from "./plan-sessions.ts";
import type { ClientRequest, DeniedCall, Question } from "./questions.ts";
import { newSecret, sha256 } from "./secrets.ts";
import type { SignedIn } from "./signed-in.ts";

/** What a page asks a person. */
export interface Asked {
  readonly scopes: readonly AskedScope[];
  readonly client: ClientRequest | null;
  readonly call: DeniedCall | null;
}

/** Long enough to read it. */
const questionSeconds = 900;

/** Of a call that was denied there is one question, however often its link is opened. */
export const sealQuestion = (deps: ConsentDeps, { signInId }: SignedIn, { scopes, client, call }: Asked) =>
  deps.questions.seal(
    "question",
    {
      id: call?.actionId ?? deps.ids.next(),
      signInId,
      asked: scopes.map(({ scope, policyVersion, agent }) => ({ scope, policyVersion, agent })),
      shown: shownHash(scopes, { client, call }),
      call,
      client,
    },
    questionSeconds,
  );

export type Answered =
  | { readonly kind: "allowed"; readonly code: string | undefined }
  /** The question had an answer already. */
  | { readonly kind: "answered" }
  /** The session whose call was denied has ended. */
  | { readonly kind: "over" }
  /** What the consent would allow is not what the page showed. */
  | { readonly kind: "changed"; readonly scopes: readonly AskedScope[] }
  | { readonly kind: "impossible"; readonly why: string };

/** Starts the sessions that the person allowed, if they would allow exactly what was shown. */
export async function allow(
  deps: ConsentDeps,
  signedIn: SignedIn,
  question: Question,
  ttlSeconds: number,
): Promise<Answered> {
  const { client, call } = question;
  if (call !== null && !(await isRunning(deps, call))) return { kind: "over" };
  const userSub = signedIn.subject;
  const scopes: AskedScope[] = [];
  for (const { scope, agent } of question.asked) {
    const asking = await askedOf(deps, { scope, agent, userSub });
    if (asking.kind === "refused") return { kind: "impossible", why: asking.why };
    scopes.push(asking.asked);
  }
  if (shownHash(scopes, { client, call }) !== question.shown) return { kind: "changed", scopes };
  const sessions = await planSessions(deps, scopes, {
    userSub,
    consentedBy: userSub,
    ttlSeconds,
    beside: call === null ? undefined : { sessionId: call.sessionId, holder: call.agent },
    details: detailsOf(signedIn, question),
  });
  if (sessions === undefined) return { kind: "changed", scopes };
  const code = client === null ? undefined : newSecret("code", deps.secrets);
  const atMs = deps.clock.nowMs();
  const done = await deps.consents.allow({
    answer: { questionId: question.id, atMs, expiresAtMs: question.expiresAtMs },
    sessions,
    grant: client && code !== undefined ? grantOf(deps, client, scopes, code) : undefined,
  });
  return done === "allowed" ? { kind: "allowed", code } : { kind: done };
}

export async function isRunning(
  { sessions, clock }: ConsentDeps,
  { sessionId }: Pick<DeniedCall, "sessionId">,
): Promise<boolean> {
  const session = await sessions.read(sessionId, clock.nowMs());
  return session?.status === "active";
}

/** For the record: what the person saw, by which sign-in, and whom it is for. */
const detailsOf = ({ signInId, idTokenHash }: SignedIn, { shown, client, call }: Question) => ({
  shown_sha256: shown,
  sign_in_id: signInId,
  id_token_sha256: idTokenHash,
  ...(client && { client_id: client.clientId, resource: client.resource }),
  ...(call && { action_id: call.actionId }),
});

/** RFC 6749 section 4.1.2 recommends ten minutes at most; a client redeems it at once. */
const codeSeconds = 60;

const grantOf = (
  { ids, clock }: ConsentDeps,
  { clientId, resource, challenge, redirectUri }: ClientRequest,
  scopes: readonly AskedScope[],
  code: string,
): NewGrant => ({
  grantId: ids.next(),
  agent: scopes[0]?.agent ?? "",
  clientId,
  resource,
  scopes: scopes.map(({ scope }) => scope),
  begunWith: sha256(code),
  code: { challenge, redirectUri, expiresAtMs: clock.nowMs() + codeSeconds * 1_000 },
});

/** False: the question had an answer already. */
export function refuse(deps: ConsentDeps, signedIn: SignedIn, question: Question): Promise<boolean> {
  const atMs = deps.clock.nowMs();
  const [first] = question.asked;
  const scopes = question.asked.map(({ scope }) => scope).join(" ");
  return deps.consents.refuse(
    { questionId: question.id, atMs, expiresAtMs: question.expiresAtMs },
    {
      eventId: deps.ids.next(),
      kind: "consent_refused",
      atMs,
      actor: signedIn.subject,
      sessionId: question.call?.sessionId ?? null,
      agent: first?.agent ?? null,
      details: { ...detailsOf(signedIn, question), scope: scopes },
    },
  );
}

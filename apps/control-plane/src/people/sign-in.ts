import type { SignInNotice } from "@svc/console";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { endSignIns } from "../commands/sign-ins.ts";
import { queryText, readQuery } from "../http/query.ts";
import type { Person } from "../ports/person-login.ts";
import { type Attempt, attemptSeconds, openAttempt, sealAttempt } from "./attempt.ts";
import { hostCookie, hostPrefix } from "./cookies.ts";
import type { People, PeopleDeps } from "./deps.ts";
import { nextPath } from "./next-path.ts";
import { cookieHash, personCookie, type SignedIn, signInPages, signInSeconds } from "./signed-in.ts";

export interface SignInDeps extends PeopleDeps {
  readonly people: People;
}

/** 303 to the provider. The attempt is in the browser alone, in a cookie of its own: two tabs do not disturb each other. */
export async function beginSignIn(c: Context, { people, ids, clock, issuer }: SignInDeps): Promise<Response> {
  const { next, prompt } = readQuery(c.req.raw.url);
  const here = new URL(c.req.raw.url);
  const there = new URL(`${here.pathname}${here.search}`, issuer);
  if (isOtherLoopback(here, there)) return c.redirect(there.href, 303);
  const { address, ...login } = await people.login.begin({ again: prompt === "login" });
  const attempt = { signInId: ids.next(), ...login, next: nextPath(next) };
  removeSurplus(c, people);
  const sealed = await sealAttempt(attempt, people.attemptKey, clock.nowMs());
  attemptCookie(c, login.state, people).set(sealed, attemptSeconds);
  return c.redirect(address.href, 303);
}

/** The callback comes to the issuer's host: at 127.0.0.1 a browser has no cookie of localhost. */
const isOtherLoopback = (here: URL, there: URL): boolean =>
  here.hostname !== there.hostname && [here, there].every(({ hostname }) => loopback.test(hostname));

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const attemptPrefix = "svc-attempt-";

/** Named by the state, of which a cookie's name takes every character. */
const attemptCookie = (c: Context, state: string, people: People) =>
  hostCookie(c, `${attemptPrefix}${state.slice(0, 16)}`, people);

const mostAttempts = 4;

/** A page that begins sign-ins without end must not fill the browser's request headers. */
function removeSurplus(c: Context, people: People): void {
  const prefix = people.isSecure ? `${hostPrefix}${attemptPrefix}` : attemptPrefix;
  const names = Object.keys(getCookie(c)).filter((name) => name.startsWith(prefix));
  if (names.length < mostAttempts) return;
  for (const name of names) hostCookie(c, name.slice(prefix.length - attemptPrefix.length), people).remove();
}

type SignInEnd = SignInNotice | { readonly kind: "signed_in"; readonly next: string };

/** The provider's callback: signs the person in, in the browser that began the attempt, once. */
export async function completeSignIn(c: Context, deps: SignInDeps): Promise<SignInEnd> {
  const { state } = readQuery(c.req.raw.url);
  const attempt = await takeAttempt(c, state, deps);
  if (attempt === undefined) return { kind: "other_browser" };
  const { signInId, next } = attempt;
  if ((await deps.signIns.find(signInId)) !== undefined) return refuseReplay(attempt, deps);
  const end = await deps.people.login.complete(new URLSearchParams(queryText(c.req.raw.url)), attempt);
  switch (end.kind) {
    case "refused":
      return { ...end, next };
    case "invalid":
      deps.events.signInRefused(end.cause);
      return { kind: end.kind, next };
    case "client_refused":
      deps.events.signInUnavailable(end.cause);
      return { kind: end.kind, next };
    case "person":
      return (await store(c, { person: end, signInId }, deps))
        ? { kind: "signed_in", next }
        : refuseReplay(attempt, deps);
  }
}

async function takeAttempt(c: Context, state: string | undefined, { people, clock }: SignInDeps) {
  if (state === undefined || !/^[\w-]{16,128}$/.test(state)) return undefined;
  const cookie = attemptCookie(c, state, people);
  const sealed = cookie.value();
  if (sealed === undefined) return undefined;
  cookie.remove();
  const attempt = await openAttempt(sealed, people.attemptKey, clock.nowMs());
  return attempt?.state === state ? attempt : undefined;
}

/** A copied attempt came a second time: what came of it ends. */
async function refuseReplay({ signInId, next }: Attempt, deps: SignInDeps): Promise<SignInEnd> {
  await endSignIns(deps, { signInId }, { by: "sign-in", reason: "its callback was used twice" });
  return { kind: "invalid", next };
}

/** False if this attempt signed in before. Another sign-in of this browser ends. */
async function store(
  c: Context,
  { person, signInId }: { readonly person: Person; readonly signInId: string },
  deps: SignInDeps,
): Promise<boolean> {
  const { people, secrets, clock, ids } = deps;
  const { kind, ...facts } = person;
  const groups = facts.groups.filter((group) => people.rolesOf([group]).length > 0);
  const value = secrets.next();
  const begunAtMs = clock.nowMs();
  const isNew = await deps.signIns.begin(
    {
      ...facts,
      groups,
      signInId,
      cookieHash: cookieHash(value, people),
      begunAtMs,
      expiresAtMs: begunAtMs + signInSeconds * 1000,
    },
    {
      eventId: ids.next(),
      kind: "signed_in",
      atMs: begunAtMs,
      actor: person.subject,
      details: { sign_in_id: signInId, issuer: person.issuer, id_token_sha256: person.idTokenHash },
    },
  );
  if (!isNew) return false;
  deps.events.administered("signed_in");
  await endOf(await signInPages(deps).holder(c), deps, "signed in again");
  personCookie(c, people).set(value, signInSeconds);
  return true;
}

/** Ends the sign-in of the request's cookie; false if it has none. */
export async function endOwnSignIn(c: Context, deps: SignInDeps, reason: string): Promise<boolean> {
  const signedIn = await signInPages(deps).holder(c);
  personCookie(c, deps.people).remove();
  await endOf(signedIn, deps, reason);
  return signedIn !== undefined;
}

async function endOf(signedIn: SignedIn | undefined, deps: SignInDeps, reason: string): Promise<void> {
  if (signedIn === undefined) return;
  const { signInId, subject } = signedIn;
  if ((await endSignIns(deps, { signInId }, { by: subject, reason })) > 0) deps.events.administered("sign_in_ended");
}

import type { Context } from "hono";
import { readQuery } from "../http/query.ts";
import { type Asked, isRunning, sealQuestion } from "./answer.ts";
import { askedOf, askedOfAll } from "./asked.ts";
import { readAuthorizeRequest, redirectWith } from "./authorize-request.ts";
import { findClient } from "./clients.ts";
import { type PersonHost, personOf, views } from "./person-pages.ts";
import type { ClientRequest } from "./questions.ts";
import type { SignedIn } from "./signed-in.ts";

/** The authorization endpoint (RFC 6749 section 4.1.1). */
export async function askForClient(host: PersonHost, c: Context): Promise<Response> {
  const query = readQuery(c.req.raw.url);
  const signedIn = await host.pages.holder(c);
  // A stranger causes no request to another server.
  if (signedIn === undefined && !host.oauth.clients.has(query.client_id ?? "")) return host.pages.toSignIn(c);
  const reading = await readAuthorizeRequest(host.oauth, query);
  if (reading.kind === "unusable") {
    const next = "Go back to the application and tell its makers what this page says.";
    return host.say(c, signedIn, "deny", "This application cannot be let in", reading.why, next, 400);
  }
  if (reading.kind === "refused") return backToClient(host, c, reading, { error: reading.error, why: reading.why });
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const { client, request, scopes } = reading;
  const asking = await askedOfAll(host, scopes, { agent: client.agent, userSub: signedIn.subject });
  if (asking.kind === "refused") return backToClient(host, c, request, { error: "invalid_scope", why: asking.why });
  return showQuestion(host, c, signedIn, { scopes: asking.asked, client: request, call: null });
}

/** A link of a denied call: of the session's person alone, so that it is of no use to others it is forwarded to. */
export async function askForCall(host: PersonHost, c: Context): Promise<Response> {
  const signedIn = await host.pages.holder(c);
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const link = await host.questions.open("link", readQuery(c.req.raw.url).ask ?? "");
  if (link === undefined) return linkOver(host, c, signedIn);
  if (link.userSub !== signedIn.subject) {
    const next = "Only the person whom the agent acts for can answer it. Sign out to sign in as that person.";
    return host.say(c, signedIn, "deny", "Not yours to answer", "This question is for another person.", next, 403);
  }
  const { call, scope } = link;
  if (!(await isRunning(host, call))) return linkOver(host, c, signedIn);
  const asking = await askedOf(host, { scope, agent: call.agent, userSub: signedIn.subject });
  if (asking.kind === "refused") {
    const next = "The operators of this service can change what its agents declare.";
    return host.say(c, signedIn, "deny", "This cannot be allowed", asking.why, next, 409);
  }
  return showQuestion(host, c, signedIn, { scopes: [asking.asked], client: null, call });
}

export const linkOver = (host: PersonHost, c: Context, signedIn: SignedIn): Promise<Response> =>
  host.say(
    c,
    signedIn,
    "deny",
    "This link is over",
    "Links live for ten minutes, and no longer than the session of the agent that asks.",
    "Let the agent try again: it is given a new link.",
    410,
  );

/** @param changed the page is shown once more, since what it asks has changed */
export async function showQuestion(
  host: PersonHost,
  c: Context,
  signedIn: SignedIn,
  asked: Asked,
  changed = false,
): Promise<Response> {
  const { consentView } = await views();
  const view = consentView({
    person: personOf(host.pages, signedIn),
    asked: asked.scopes,
    client: asked.client && (await shownClient(host, asked.client)),
    call: asked.call,
    question: await sealQuestion(host, signedIn, asked),
    changed,
  });
  return host.show(c, view, signedIn);
}

async function shownClient({ oauth }: PersonHost, { clientId, redirectUri, resource }: ClientRequest) {
  const { name } = await findClient(oauth, clientId);
  return { name, id: clientId, returnsTo: originOf(redirectUri), resource };
}

/** An application's own scheme has no origin. */
function originOf(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

/** An error of the authorization endpoint (RFC 6749 section 4.1.2.1). */
export const backToClient = (
  { issuer }: PersonHost,
  c: Context,
  { redirectUri, state }: Pick<ClientRequest, "redirectUri" | "state">,
  { error, why }: { readonly error: string; readonly why: string },
): Response =>
  c.redirect(redirectWith(redirectUri, issuer, { error, error_description: describable(why), state }), 303);

/** The characters of an `error_description`. */
const describable = (text: string): string => text.replaceAll('"', "'").replaceAll(/[^\x20-\x5b\x5d-\x7e]/g, "?");

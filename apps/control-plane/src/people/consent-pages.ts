import type { Person, PersonView } from "@svc/console";
import { type Context, Hono } from "hono";
import { reported } from "../http/error-handling.ts";
import { readForm } from "../http/form.ts";
import { readQuery } from "../http/query.ts";
import type { App } from "../http/routes.ts";
import { type Answered, type Asked, allow, isRunning, refuse, sealQuestion } from "./answer.ts";
import { askedOf, askedOfAll } from "./asked.ts";
import { readAuthorizeRequest, redirectWith } from "./authorize-request.ts";
import { findClient } from "./clients.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import type { People } from "./deps.ts";
import { endMine, mine } from "./mine.ts";
import { pageHeaders } from "./page-headers.ts";
import type { ClientRequest, Question } from "./questions.ts";
import { type SignedIn, type SignInPages, signInPages } from "./signed-in.ts";

/** The pages on which a person consents, and sees and ends what it allowed. Loaded at the first request. */
export function consentPageRoutes(app: App, deps: ConsentDeps): void {
  const { people } = deps;
  if (people === undefined) return;
  const pages = consentApp({ ...deps, people });
  for (const path of ["/consent", "/oauth/authorize", "/me", "/me/*"]) app.all(path, (c) => pages.fetch(c.req.raw));
}

interface PageDeps extends ConsentDeps {
  readonly people: People;
}

/** What the handlers of the pages share. */
interface Host extends PageDeps {
  readonly signIns: PageDeps["signIns"];
  readonly pages: SignInPages;
  show(c: Context, view: PersonView, signedIn?: SignedIn): Promise<Response>;
}

const console = () => import("@svc/console");

function consentApp(deps: PageDeps): Hono {
  const app = new Hono();
  const pages = signInPages(deps);
  const show: Host["show"] = async (c, view, signedIn) => {
    const { personLayout } = await console();
    if (view.formTarget !== undefined) c.header("Content-Security-Policy", policyTo(view.formTarget));
    return c.html(personLayout(view, signedIn && personOf(pages, signedIn), deps.version), view.status ?? 200);
  };
  const host: Host = { ...deps, pages, show };
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(pageHeaders)) if (!c.res.headers.has(name)) c.header(name, value);
  });
  app.onError(async (thrown, c) => {
    const { message, status } = reported(thrown, deps.events.requestFailed);
    return show(c, await words("deny", "This cannot be shown", message, "Try again in a moment.", status));
  });
  app.notFound(async (c) =>
    show(c, await words("deny", "Page not found", "There is no such page.", "Start from what you allowed: /me.", 404)),
  );
  app.get("/oauth/authorize", (c) => askForClient(host, c));
  app.get("/consent", (c) => askForCall(host, c));
  app.post("/consent", (c) => takeAnswer(host, c));
  app.get("/me", (c) => showMine(host, c));
  app.post("/me/end", (c) => end(host, c));
  return app;
}

const words = async (...said: Parameters<Awaited<ReturnType<typeof console>>["messageView"]>): Promise<PersonView> =>
  (await console()).messageView(...said);

const personOf = (pages: SignInPages, signedIn: SignedIn): Person => ({
  name: signedIn.name ?? signedIn.email ?? signedIn.subject,
  subject: signedIn.subject,
  formToken: pages.formToken(signedIn),
});

/** Browsers hold the redirect after a form to `form-action` too. */
const policyTo = (target: string): string =>
  pageHeaders["Content-Security-Policy"].replace("form-action 'self'", `form-action 'self' ${target}`);

/** The authorization endpoint (RFC 6749 section 4.1.1). */
async function askForClient(host: Host, c: Context): Promise<Response> {
  const query = readQuery(c.req.raw.url);
  const signedIn = await host.pages.holder(c);
  // A stranger causes no request to another server.
  if (signedIn === undefined && !host.oauth.clients.has(query.client_id ?? "")) return host.pages.toSignIn(c);
  const reading = await readAuthorizeRequest(host.oauth, query);
  if (reading.kind === "unusable") {
    const next = "Go back to the application and tell its makers what this page says.";
    return host.show(c, await words("deny", "This application cannot be let in", reading.why, next, 400));
  }
  if (reading.kind === "refused") return backToClient(host, c, reading, { error: reading.error, why: reading.why });
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const { client, request, scopes } = reading;
  const asking = await askedOfAll(host, scopes, { agent: client.agent, userSub: signedIn.subject });
  if (asking.kind === "refused") return backToClient(host, c, request, { error: "invalid_scope", why: asking.why });
  return showQuestion(host, c, signedIn, { scopes: asking.asked, client: request, call: null });
}

/** A link of a denied call: of the session's person alone, so that it is of no use to others it is forwarded to. */
async function askForCall(host: Host, c: Context): Promise<Response> {
  const signedIn = await host.pages.holder(c);
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const link = await host.questions.open("link", readQuery(c.req.raw.url).ask ?? "");
  if (link === undefined) return linkOver(host, c, signedIn);
  if (link.userSub !== signedIn.subject) {
    const why = "This question is for somebody else.";
    const next = "Only the person whom the agent acts for can answer it. Sign out to sign in as that person.";
    return host.show(c, await words("deny", "Not yours to answer", why, next, 403), signedIn);
  }
  const { call, scope } = link;
  if (!(await isRunning(host, call))) return linkOver(host, c, signedIn);
  const asking = await askedOf(host, { scope, agent: call.agent, userSub: signedIn.subject });
  if (asking.kind === "refused") {
    const next = "The operators of this service can change what its agents declare.";
    return host.show(c, await words("deny", "This cannot be allowed", asking.why, next, 409), signedIn);
  }
  return showQuestion(host, c, signedIn, { scopes: [asking.asked], client: null, call });
}

const linkOver = async (host: Host, c: Context, signedIn: SignedIn): Promise<Response> =>
  host.show(
    c,
    await words(
      "deny",
      "This link is over",
      "Links live for ten minutes, and no longer than the session of the agent that asks.",
      "Let the agent try again: it is given a new link.",
      410,
    ),
    signedIn,
  );

async function showQuestion(host: Host, c: Context, signedIn: SignedIn, asked: Asked, changed = false) {
  const { consentView } = await console();
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

async function shownClient({ oauth }: Host, { clientId, redirectUri, resource }: ClientRequest) {
  const { name } = await findClient(oauth, clientId);
  return { name, id: clientId, returnsTo: originOf(redirectUri), resource };
}

/** An application's own scheme has no origin. */
function originOf(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

async function takeAnswer(host: Host, c: Context): Promise<Response> {
  const posted = await readPosted(host, c);
  if (posted instanceof Response) return posted;
  const { signedIn, fields } = posted;
  const question = await host.questions.open("question", fields.get("question") ?? "");
  if (question === undefined || question.signInId !== signedIn.signInId) {
    const next = "Start again from the application, or from the agent's link.";
    return host.show(
      c,
      await words("deny", "This question is over", "It was not answered in time.", next, 410),
      signedIn,
    );
  }
  switch (fields.get("answer")) {
    case "refuse":
      if (!(await refuse(host, signedIn, question))) return answered(host, c, signedIn);
      host.events.administered("consent_refused");
      return refused(host, c, signedIn, question);
    case "allow":
      return toldAnswer(host, c, signedIn, question, await allow(host, signedIn, question, ttlOf(fields.get("ttl"))));
    default:
      return host.show(
        c,
        await words("deny", "No answer", "The form has no answer.", "Go back, and choose one.", 400),
        signedIn,
      );
  }
}

const longestSeconds = 86_400;
const shortestSeconds = 60;

/** Of a form that was tampered with, the shortest. */
function ttlOf(text: string | undefined): number {
  const seconds = Number(/^\d{1,5}$/.exec(text ?? "")?.[0] ?? shortestSeconds);
  return Math.min(longestSeconds, Math.max(shortestSeconds, seconds));
}

async function toldAnswer(host: Host, c: Context, signedIn: SignedIn, question: Question, answer: Answered) {
  const { client, call } = question;
  switch (answer.kind) {
    case "allowed":
      host.events.administered("consent_granted");
      if (client && answer.code !== undefined) {
        return c.redirect(
          redirectWith(client.redirectUri, host.issuer, { code: answer.code, state: client.state }),
          303,
        );
      }
      return host.show(
        c,
        await words(
          "allow",
          "Allowed",
          `${call?.agent ?? "The agent"} may go on now.`,
          "You can close this page. What you allowed is under /me.",
        ),
        signedIn,
      );
    case "answered":
      return answered(host, c, signedIn);
    case "over":
      return linkOver(host, c, signedIn);
    case "changed":
      return showQuestion(host, c, signedIn, { scopes: answer.scopes, client, call }, true);
    default:
      return host.show(
        c,
        await words("deny", "This cannot be allowed", answer.why, "Nothing was allowed.", 409),
        signedIn,
      );
  }
}

const answered = async (host: Host, c: Context, signedIn: SignedIn) =>
  host.show(
    c,
    await words(
      "deny",
      "Answered before",
      "This question has an answer already.",
      "Nothing changed. What you allowed is under /me.",
      409,
    ),
    signedIn,
  );

async function refused(host: Host, c: Context, signedIn: SignedIn, { client }: Question): Promise<Response> {
  if (client) return backToClient(host, c, client, { error: "access_denied", why: "the person refused" });
  return host.show(c, await words("neutral", "Refused", "Nothing was allowed.", "You can close this page."), signedIn);
}

/** An error of the authorization endpoint (RFC 6749 section 4.1.2.1). */
const backToClient = (
  { issuer }: Host,
  c: Context,
  { redirectUri, state }: Pick<ClientRequest, "redirectUri" | "state">,
  { error, why }: { readonly error: string; readonly why: string },
): Response =>
  c.redirect(redirectWith(redirectUri, issuer, { error, error_description: describable(why), state }), 303);

/** The characters of an `error_description`. */
const describable = (text: string): string => text.replaceAll('"', "'").replaceAll(/[^\x20-\x5b\x5d-\x7e]/g, "?");

async function showMine(host: Host, c: Context): Promise<Response> {
  const signedIn = await host.pages.holder(c);
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const { meView } = await console();
  const { sessions, more } = await mine(host, signedIn);
  return host.show(c, meView(personOf(host.pages, signedIn), sessions, more), signedIn);
}

async function end(host: Host, c: Context): Promise<Response> {
  const posted = await readPosted(host, c);
  if (posted instanceof Response) return posted;
  const ended = await endMine(host, posted.signedIn, posted.fields);
  if (ended) host.events.administered("session_revoked");
  return c.redirect("/me", 303);
}

/** The form that a page of ours sent for the person who is signed in; else the answer. */
async function readPosted(host: Host, c: Context) {
  const signedIn = await host.pages.holder(c);
  const back = "Go back, sign in again, and repeat it.";
  if (signedIn === undefined)
    return host.show(c, await words("deny", "Signed out", "Your sign-in has ended.", back, 401));
  const form = await readForm(c.req.raw);
  if (form.ok && host.pages.isOwnForm(c, signedIn, form.fields.get("form"))) return { signedIn, fields: form.fields };
  return host.show(
    c,
    await words("deny", "Not from here", "This form was not sent from a page of this service.", back, 403),
    signedIn,
  );
}

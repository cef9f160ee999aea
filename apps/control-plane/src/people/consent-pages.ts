import type { Context } from "hono";
import type { App } from "../http/routes.ts";
import { takeAnswer } from "./answer-page.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { endMine, mine } from "./mine.ts";
import { type PersonHost, personOf, personPages, readPosted, views } from "./person-pages.ts";
import { askForCall, askForClient } from "./questions-shown.ts";

/** The pages on which a person consents, and sees and ends what it allowed. */
export function consentPageRoutes(app: App, deps: ConsentDeps): void {
  const { people } = deps;
  if (people === undefined) return;
  const pages = personPages({ ...deps, people }, (mounted, host) => {
    mounted.get("/oauth/authorize", (c) => askForClient(host, c));
    mounted.get("/consent", (c) => askForCall(host, c));
    mounted.post("/consent", (c) => takeAnswer(host, c));
    mounted.get("/me", (c) => showMine(host, c));
    mounted.post("/me/end", (c) => end(host, c));
  });
  for (const path of ["/consent", "/oauth/authorize", "/me", "/me/*"]) app.all(path, (c) => pages.fetch(c.req.raw));
}

async function showMine(host: PersonHost, c: Context): Promise<Response> {
  const signedIn = await host.pages.holder(c);
  if (signedIn === undefined) return host.pages.toSignIn(c);
  const { meView } = await views();
  const { sessions, more } = await mine(host, signedIn);
  return host.show(c, meView(personOf(host.pages, signedIn), sessions, more), signedIn);
}

async function end(host: PersonHost, c: Context): Promise<Response> {
  const posted = await readPosted(host, c);
  if (posted instanceof Response) return posted;
  if (await endMine(host, posted.signedIn, posted.fields)) host.events.administered("session_revoked");
  return c.redirect("/me", 303);
}

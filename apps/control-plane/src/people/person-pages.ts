import type { messageView, Person, PersonView } from "@svc/console";
import { pageHeaders } from "@svc/console/page-headers";
import { type Context, Hono } from "hono";
import { reported } from "../http/error-handling.ts";
import { readForm } from "../http/form.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import type { People } from "./deps.ts";
import { type SignedIn, type SignInPages, signInPages } from "./signed-in.ts";

/** What the handlers of a person's pages share. */
export interface PersonHost extends ConsentDeps {
  readonly people: People;
  readonly pages: SignInPages;
  show(c: Context, view: PersonView, signedIn?: SignedIn): Promise<Response>;
  /** A page of one sentence. */
  say(c: Context, signedIn: SignedIn | undefined, ...said: Parameters<typeof messageView>): Promise<Response>;
}

/** Loaded at the first page: most processes never show one. */
export const views = () => import("@svc/console");

/** @param mount adds the handlers of the pages */
export function personPages(
  deps: ConsentDeps & { readonly people: People },
  mount: (app: Hono, host: PersonHost) => void,
): Hono {
  const app = new Hono();
  const pages = signInPages(deps);
  const show: PersonHost["show"] = async (c, view, signedIn) => {
    const { personLayout } = await views();
    if (view.formTarget !== undefined) c.header("Content-Security-Policy", policyTo(view.formTarget));
    return c.html(personLayout(view, signedIn && personOf(pages, signedIn), deps.version), view.status ?? 200);
  };
  const say: PersonHost["say"] = async (c, signedIn, ...said) =>
    show(c, (await views()).messageView(...said), signedIn);
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(pageHeaders)) if (!c.res.headers.has(name)) c.header(name, value);
  });
  app.onError((thrown, c) => {
    const { message, status } = reported(thrown, deps.events.requestFailed);
    return say(c, undefined, "deny", "This cannot be shown", message, "Try again in a moment.", status);
  });
  app.notFound((c) =>
    say(c, undefined, "deny", "Page not found", "There is no such page.", "Start from what you allowed: /me.", 404),
  );
  mount(app, { ...deps, pages, show, say });
  return app;
}

export const personOf = (pages: SignInPages, signedIn: SignedIn): Person => ({
  name: signedIn.name ?? signedIn.email ?? signedIn.subject,
  subject: signedIn.subject,
  formToken: pages.formToken(signedIn),
});

/** Browsers hold the redirect after a form to `form-action` too. */
const policyTo = (target: string): string =>
  pageHeaders["Content-Security-Policy"].replace("form-action 'self'", `form-action 'self' ${target}`);

/** The form that a page of ours sent for the person who is signed in; else the answer. */
export async function readPosted(host: PersonHost, c: Context) {
  const signedIn = await host.pages.holder(c);
  const back = "Go back, sign in again, and repeat it.";
  if (signedIn === undefined) return host.say(c, signedIn, "deny", "Signed out", "Your sign-in has ended.", back, 401);
  const form = await readForm(c.req.raw);
  if (form.ok && host.pages.isOwnForm(c, signedIn, form.fields.get("form"))) return { signedIn, fields: form.fields };
  const sentence = "This form was not sent from a page of this service.";
  return host.say(c, signedIn, "deny", "Not from here", sentence, back, 403);
}

import type { SignInNotice } from "@svc/console";
import { pageHeaders } from "@svc/console/page-headers";
import { type Context, Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { reported } from "../http/error-handling.ts";
import { routeNotFound } from "../http/path.ts";
import type { App } from "../http/routes.ts";
import { IdentityProviderUnavailable } from "../ports/identity-provider.ts";
import type { PeopleDeps } from "./deps.ts";
import { beginSignIn, completeSignIn, endOwnSignIn, type SignInDeps } from "./sign-in.ts";
import { isFromOwnPage } from "./signed-in.ts";

/** Sign-in with the OpenID provider. The routes exist only where a client of it is configured. */
export function signInRoutes(app: App, deps: PeopleDeps): void {
  const { people } = deps;
  if (people === undefined) return;
  const pages = signInApp({ ...deps, people });
  for (const path of ["/sign-in", "/sign-in/callback", "/sign-out"]) app.all(path, (c) => pages.fetch(c.req.raw));
}

/** Every response is a page or leads to one. */
function signInApp(deps: SignInDeps): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value);
  });
  const show = async (c: Context, shown: SignInNotice): Promise<Response> => {
    const { signInNotice } = await import("@svc/console");
    const provider = deps.people.providerIssuer.host;
    const { status, headers, markup } = signInNotice(shown, { version: deps.version, provider });
    for (const [name, value] of Object.entries(headers ?? {})) c.header(name, value);
    return c.html(markup, status);
  };
  handleErrors(app, deps, show);
  app.get("/sign-in", (c) => beginSignIn(c, deps));
  app.get("/sign-in/callback", async (c) => {
    const end = await completeSignIn(c, deps);
    return end.kind === "signed_in" ? c.redirect(end.next, 303) : show(c, end);
  });
  app.get("/sign-out", (c) => show(c, { kind: "signed_out" }));
  app.post("/sign-out", async (c) => {
    if (!isFromOwnPage(c)) return show(c, { kind: "foreign_form" });
    await endOwnSignIn(c, deps, "signed out");
    return c.redirect("/sign-out", 303);
  });
  return app;
}

function handleErrors(
  app: Hono,
  { events }: SignInDeps,
  show: (c: Context, shown: SignInNotice) => Promise<Response>,
): void {
  const onMethodNotAllowed = (c: Context, methods: readonly string[]) => {
    const headers = { Allow: methods.join(", ") };
    const message = "This page does not take this method.";
    return show(c, { kind: "error", refusal: { code: "method_not_allowed", status: 405, message, headers } });
  };
  app.use(methodNotAllowed({ app, onMethodNotAllowed }));
  app.notFound((c) => show(c, { kind: "error", refusal: routeNotFound() }));
  app.onError((thrown, c) => {
    if (!(thrown instanceof IdentityProviderUnavailable)) {
      return show(c, { kind: "error", refusal: reported(thrown, events.requestFailed) });
    }
    events.signInUnavailable(thrown);
    return show(c, { kind: "unavailable" });
  });
}

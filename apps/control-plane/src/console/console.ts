import type { Context } from "hono";
import { Hono } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import { ApiError } from "../http/api-error.ts";
import type { Bearer } from "../http/bearers.ts";
import { toApiError } from "../http/error-response.ts";
import { readForm } from "../http/form.ts";
import { invalidRequest } from "../http/issues.ts";
import { rawPath, routeNotFound } from "../http/path.ts";
import { queryText, readQuery } from "../http/query.ts";
import { rateLimited } from "../http/rate-limit.ts";
import type { Deps } from "../routes/deps.ts";
import { readAssets } from "./assets.ts";
import { failurePage } from "./failure-page.ts";
import { layout } from "./layout.ts";
import type { Markup } from "./markup.ts";
import { pages } from "./pages/index.ts";
import { type SignIns, signIns } from "./sign-in-cookie.ts";
import { nextWithin, returningPage, signInPage } from "./sign-in-page.ts";
import type { Page } from "./view.ts";

/** Nothing is loaded from elsewhere, nothing inline runs, nobody frames it, nothing is kept (CSP level 3; RFC 9111). */
const headers = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

/** The read-only pages: whatever comes is answered with one. */
export function createConsole(deps: Deps): Hono {
  const app = new Hono();
  const signedIn = signIns(deps.console, deps.clock);
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
  });
  answerFaults(app, deps, signedIn);
  // RFC 9110 section 7.2: behind a proxy that ends TLS only the host of both is the same.
  app.use(csrf({ origin: (origin, c) => URL.parse(origin)?.host === c.req.header("host") }));
  assetRoute(app);
  signInRoutes(app, deps, signedIn);
  for (const page of pages) pageRoute(app, deps, signedIn, page);
  return app;
}

const htmlPage = (c: Context, page: Markup, status: 200 | ApiError["status"] = 200): Response | Promise<Response> =>
  c.html(page, status);

function answerFaults(app: Hono, deps: Deps, signedIn: SignIns): void {
  const answer = (c: Context, error: ApiError) => {
    for (const [name, value] of Object.entries(error.headers)) {
      // There is no bearer to ask a browser for.
      if (name !== "WWW-Authenticate") c.header(name, value);
    }
    return htmlPage(c, layout(failurePage(error), { viewer: signedIn.holder(c), version: deps.version }), error.status);
  };
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) =>
        answer(
          c,
          new ApiError("method_not_allowed", "It takes no such request.", { headers: { Allow: methods.join(", ") } }),
        ),
    }),
  );
  app.notFound((c) => answer(c, routeNotFound()));
  app.onError((thrown, c) => {
    if (thrown instanceof HTTPException) return answer(c, invalidRequest("The form was not sent from this console."));
    const error = toApiError(thrown);
    if (error.code === "internal") deps.events.requestFailed(thrown);
    return answer(c, error);
  });
}

/** Without a sign-in: it tells nothing of anybody. */
function assetRoute(app: Hono): void {
  const assets = readAssets();
  app.get("/console/assets/:name", (c) => {
    const asset = assets.get(c.req.param("name"));
    if (asset === undefined) throw routeNotFound();
    return c.body(asset.text, 200, { "Content-Type": asset.contentType });
  });
}

function signInRoutes(app: Hono, deps: Deps, signedIn: SignIns): void {
  const frame = { viewer: undefined, version: deps.version };
  const show = (c: Context, next: string, refusal?: string) =>
    htmlPage(
      c,
      layout({ title: "Sign in", body: signInPage({ next, ...(refusal !== undefined && { refusal }) }) }, frame),
      refusal === undefined ? 200 : 401,
    );
  app.get("/console/sign-in", (c) => show(c, nextWithin(readQuery(c.req.raw.url).next)));
  app.post("/console/sign-in", async (c) => {
    const form = await readForm(c.req.raw);
    if (!form.ok) throw invalidRequest(form.description);
    const next = nextWithin(form.fields.get("next"));
    const bearer = holderOf(deps, form.fields.get("token") ?? "");
    if (bearer === undefined) return show(c, next, "This is not a token of an audit reader.");
    await countCall(deps, bearer);
    signedIn.begin(c, bearer);
    return c.redirect(next, 303);
  });
  app.post("/console/sign-out", (c) => {
    signedIn.end(c);
    return c.redirect("/console/sign-in", 303);
  });
}

/** The same comparison as for every call of the audit plane. */
function holderOf({ bearers }: Deps, token: string): Bearer | undefined {
  try {
    return bearers("audit", `Bearer ${token.trim()}`);
  } catch (error) {
    if (error instanceof ApiError && error.code === "unauthorized") return undefined;
    throw error;
  }
}

async function countCall({ limits }: Deps, bearer: Bearer): Promise<void> {
  const waitSeconds = await limits.bearer(bearer);
  if (waitSeconds > 0) throw rateLimited(waitSeconds);
}

function pageRoute(app: Hono, deps: Deps, signedIn: SignIns, page: Page): void {
  app.get(page.path, async (c) => {
    const viewer = signedIn.holder(c);
    if (viewer === undefined) return toSignIn(c);
    await countCall(deps, viewer);
    const asked = Object.entries(readQuery(c.req.raw.url)).filter(([, value]) => value !== "");
    const view = await page.render(deps, { params: c.req.param(), query: Object.fromEntries(asked) });
    return htmlPage(c, layout(view, { viewer, version: deps.version }));
  });
}

function toSignIn(c: Context): Response | Promise<Response> {
  const query = queryText(c.req.raw.url);
  const here = `${rawPath(c.req.raw.url)}${query === "" ? "" : `?${query}`}`;
  if (c.req.header("sec-fetch-site") === "cross-site") return htmlPage(c, returningPage(here));
  return c.redirect(`/console/sign-in?${new URLSearchParams({ next: here })}`, 303);
}

import type { Context } from "hono";
import { Hono } from "hono";
import { csrf } from "hono/csrf";
import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import { noOffer, offerFrom } from "./acts/offer.ts";
import { actRoutes } from "./acts/routes.ts";
import { doneNotice } from "./acts/view.ts";
import { readAssets } from "./assets.ts";
import { evidencePage } from "./evidence.ts";
import { failurePage } from "./failure-page.ts";
import type { Host } from "./host.ts";
import { href } from "./markup.ts";
import { pageHeaders } from "./page-headers.ts";
import { actionPage } from "./pages/action.ts";
import { agentPage } from "./pages/agent.ts";
import { agentsPage } from "./pages/agents.ts";
import { decisionExports } from "./pages/decision-export.ts";
import { decisionsPage } from "./pages/decisions.ts";
import { denialsPage } from "./pages/denials.ts";
import { eventsPage } from "./pages/events.ts";
import { mapPage } from "./pages/map.ts";
import { overviewPage } from "./pages/overview.ts";
import { personPage } from "./pages/person.ts";
import { scopePage, scopesPage } from "./pages/scopes.ts";
import { searchPage } from "./pages/search.ts";
import { sessionPage, sessionsPage } from "./pages/sessions.ts";
import { toolPage } from "./pages/tool.ts";
import { wouldBlockPage } from "./pages/would-block.ts";
import type { ConsolePorts, Refusal } from "./ports.ts";
import { nextWithin, noRolePage, signInPage, signIns, toSignIn } from "./sign-in.ts";
import { layout, type Page } from "./view.ts";

/** These pages have a script, and no inline one. */
const headers = {
  ...pageHeaders,
  "Content-Security-Policy": `${pageHeaders["Content-Security-Policy"]}; script-src 'self'; connect-src 'self'`,
};

const pages: readonly Page[] = [
  overviewPage,
  decisionsPage,
  ...decisionExports,
  actionPage,
  evidencePage,
  wouldBlockPage,
  searchPage,
  scopesPage,
  scopePage,
  agentsPage,
  agentPage,
  sessionsPage,
  sessionPage,
  denialsPage,
  eventsPage,
  mapPage,
  personPage,
  toolPage,
];

/** The pages, and what administrators do from them. Every response is a page or one of its files. */
export function createConsole(ports: ConsolePorts): Hono {
  const app = new Hono();
  const cookies = signIns(ports.signIn, ports.clock);
  const show: Host["show"] = async (c, view, known) => {
    const viewer = known ?? cookies.holder(c) ?? (await ports.people?.holder(c).catch(() => undefined))?.viewer;
    for (const [name, value] of Object.entries(view.headers ?? {})) {
      // Browsers would ask for a password, which the console does not have.
      if (name !== "WWW-Authenticate") c.header(name, value);
    }
    return c.html(layout(view, viewer, ports.version), view.status ?? 200);
  };
  const host: Host = { ...ports, cookies, show };
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
  });
  handleErrors(app, host);
  // RFC 9110 section 7.2: behind a proxy that ends TLS only the host of both is the same.
  app.use(csrf({ origin: (origin, c) => URL.parse(origin)?.host === c.req.header("host") }));
  assetRoute(app, host);
  signInRoutes(app, host);
  actRoutes(app, host);
  for (const page of pages) pageRoute(app, host, page);
  return app;
}

const pageNotFound = { code: "route_not_found", status: 404, message: "The console has no such page." } as const;

function handleErrors(app: Hono, { show, refusalOf }: Host): void {
  const refuse = (c: Context, reason: Refusal) => show(c, failurePage(reason));
  const wrongMethod = { code: "method_not_allowed", status: 405, message: "This page is only read." } as const;
  const onMethodNotAllowed = (c: Context, methods: readonly string[]) =>
    refuse(c, { ...wrongMethod, headers: { Allow: methods.join(", ") } });
  const foreign = {
    code: "invalid_request",
    status: 400,
    message: "The form was not sent from this console.",
  } as const;
  app.use(methodNotAllowed({ app, onMethodNotAllowed }));
  app.notFound((c) => refuse(c, pageNotFound));
  app.onError((thrown, c) => refuse(c, thrown instanceof HTTPException ? foreign : refusalOf(thrown)));
}

/** Needs no sign-in: the files hold no data. */
function assetRoute(app: Hono, { show }: Host): void {
  const assets = readAssets();
  app.get("/console/assets/:name", (c) => {
    const asset = assets.get(c.req.param("name"));
    if (asset === undefined) return show(c, failurePage(pageNotFound));
    return c.body(asset.text, 200, { "Content-Type": asset.contentType });
  });
}

function signInRoutes(app: Hono, { cookies, show, readQuery, readForm, viewerOf, countCall, people }: Host): void {
  const providerHost = people?.providerHost;
  app.get("/console/sign-in", (c) =>
    show(c, signInPage({ next: nextWithin(readQuery(c.req.raw.url).next), providerHost })),
  );
  app.post("/console/sign-in", async (c) => {
    const form = await readForm(c.req.raw);
    const next = nextWithin(form.get("next"));
    const viewer = viewerOf(form.get("token")?.trim() ?? "");
    if (viewer === undefined) {
      return show(c, signInPage({ next, providerHost, refusal: "This is not an audit reader's token." }));
    }
    await countCall(viewer);
    cookies.begin(c, viewer);
    return c.redirect(next, 303);
  });
  app.post("/console/sign-out", async (c) => {
    cookies.end(c);
    return c.redirect((await people?.end(c)) ? "/sign-out" : "/console/sign-in", 303);
  });
}

function pageRoute(app: Hono, host: Host, page: Page): void {
  app.get(page.path, async (c) => {
    const person = await host.people?.holder(c);
    const viewer = person?.viewer ?? host.cookies.holder(c);
    if (viewer === undefined) return person === undefined ? toSignIn(c) : host.show(c, noRolePage(person.label));
    await host.countCall(viewer);
    const sent = Object.entries(host.readQuery(c.req.raw.url)).filter(([, value]) => value !== "");
    const { done, ...query } = Object.fromEntries(sent);
    const parameters = Object.keys(query);
    // First, so that no page is shown that is not on record.
    if (viewer === person?.viewer) await person?.recordView({ path: c.req.path, parameters });
    const offer = viewer.mayAct ? offerFrom(href(c.req.path, query)) : noOffer;
    const view = await page.render(host, { params: c.req.param(), query, offer });
    if (view instanceof Response) return view;
    const result = done === undefined ? undefined : await person?.acts?.result(done);
    const body = result === undefined ? view.body : html`${doneNotice(result)}${view.body}`;
    return host.show(c, { ...view, body }, viewer);
  });
}

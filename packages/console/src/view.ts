import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Offer } from "./acts/offer.ts";
import { head, isolated, type Markup, mark } from "./markup.ts";
import type { ConsolePorts, Query, Viewer } from "./ports.ts";
import { searchBox } from "./search-box.ts";

/** The parts of the console that the navigation leads to. */
const sections = [
  { path: "/console", name: "Overview" },
  { path: "/console/map", name: "Map" },
  { path: "/console/decisions", name: "Decisions" },
  { path: "/console/would-block", name: "Would block" },
  { path: "/console/scopes", name: "Scopes" },
  { path: "/console/agents", name: "Agents" },
  { path: "/console/sessions", name: "Sessions" },
  { path: "/console/denials", name: "Denials" },
  { path: "/console/events", name: "Events" },
] as const;

export interface View {
  readonly title: string;
  readonly section?: (typeof sections)[number]["name"];
  readonly body: Markup;
  /** 200 by default. */
  readonly status?: ContentfulStatusCode;
  readonly headers?: Readonly<Record<string, string>>;
  /** Loads the scripts that draw plots. */
  readonly plots?: true;
}

export interface PageRequest {
  /** Percent-decoded once. */
  readonly params: Readonly<Record<string, string>>;
  /** Without the fields that a form left empty. */
  readonly query: Query;
  readonly offer: Offer;
}

export interface Page {
  /** In the router's spelling: `/console/actions/:action_id`. */
  readonly path: string;
  /** A response, where it is no page but a file. */
  render(ports: ConsolePorts, request: PageRequest): View | Response | Promise<View | Response>;
}

/** Leads to another page. */
export const seeOther = (location: string): Response =>
  new Response(null, { status: 303, headers: { Location: location } });

const stylesOf = (viewer: Viewer | undefined, plots: View["plots"]): readonly string[] => [
  ...["base.css", "parts.css", "charts.css", "print.css"],
  ...(viewer?.mayAct ? ["acts.css"] : []),
  ...(plots ? ["uplot.css"] : []),
];

/** A whole page. Only live follow, plots and local times need the scripts. */
export const layout = (
  { title, section, body, plots }: View,
  viewer: Viewer | undefined,
  version: string,
): Markup => html`<!doctype html>
<html lang="en">
${head(title, stylesOf(viewer, plots))}
<body>
<a class="skip" href="#main">Skip to content</a>
${header(viewer, section)}
<main id="main">
<h1>${title}</h1>
${body}
</main>
<footer><p>Agent Authorization Service ${version}.${viewer && !viewer.mayAct && " Read-only."} <span data-zone>All times are UTC.</span></p></footer>
<script type="module" src="/console/assets/times.js"></script>
${viewer && html`<script type="module" src="/console/assets/follow.js"></script>`}
${plots && html`<script src="/console/assets/uplot.js"></script><script type="module" src="/console/assets/plots.js"></script>`}
</body>
</html>`;

const header = (viewer: Viewer | undefined, current: View["section"]): Markup => html`<header>
<p class="brand"><a href="/console">${mark} Agent Authorization</a></p>
${
  viewer &&
  html`<nav aria-label="Console"><ul>${sections.map(
    ({ path, name }) => html`<li><a href="${path}"${name === current && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul></nav>
${searchBox()}
<form class="viewer" method="post" action="/console/sign-out"><span>${isolated(viewer.label)}</span> <button>Sign out</button></form>`
}
</header>`;

import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { head, isolated, type Markup, mark } from "../markup.ts";

/** A page for the person whose agents ask for something; the console's pages are for those who operate the service. */
export interface PersonView {
  readonly title: string;
  readonly body: Markup;
  /** 200 by default. */
  readonly status?: ContentfulStatusCode;
  /** An address that the page's form may lead to, beside our own (CSP level 3, `form-action`). */
  readonly formTarget?: string | undefined;
}

/** Who is signed in. */
export interface Person {
  /** What the provider calls the person. */
  readonly name: string;
  /** `sub` at the provider: what the record names. */
  readonly subject: string;
  /** Against forms of other sites. */
  readonly formToken: string;
}

/** A whole page, without any script. */
export const personLayout = (
  { title, body }: PersonView,
  person: Person | undefined,
  version: string,
): Markup => html`<!doctype html>
<html lang="en">
${head(title, ["base.css", "parts.css", "people.css"])}
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<p class="brand"><a href="/me">${mark} Agent Authorization</a></p>
${
  person &&
  html`<form class="viewer" method="post" action="/sign-out"><input type="hidden" name="form" value="${person.formToken}"><span>${isolated(person.name)}</span> <button>Sign out</button></form>`
}
</header>
<main id="main" class="person">
<h1>${title}</h1>
${body}
</main>
<footer><p>Agent Authorization Service ${version}. All times are UTC.</p></footer>
</body>
</html>`;

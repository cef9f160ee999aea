import { html } from "hono/html";
import { type Markup, notice } from "./markup.ts";
import type { View } from "./view.ts";

/**
 * @param next the path to show after the sign-in
 * @param refusal why the last attempt failed
 */
export const signInPage = (next: string, refusal?: string): View => ({
  title: "Sign in",
  ...(refusal !== undefined && { status: 401 as const }),
  body: html`<div class="sign-in">
${
  refusal !== undefined &&
  html`<div id="refusal" role="alert">${notice("deny", refusal, html`<p>Enter one of the tokens of <code>SVC_AUDIT_TOKEN</code> or <code>SVC_ADMIN_TOKEN</code> as the service is configured now: only the token, without <code>Bearer</code> and without the label before its <code>=</code>.</p>`)}</div>`
}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Audit reader's token</label>
<input id="token" name="token" type="password" required autocomplete="off" spellcheck="false"${refusal !== undefined && html` aria-invalid="true" aria-describedby="refusal"`}>
<button class="primary">Sign in</button>
</form>
<p class="hint">One of <code>SVC_AUDIT_TOKEN</code>. The service exchanges it for a cookie that opens only these pages, for one hour; it does not store the token. Except on localhost, use HTTPS: otherwise your browser drops the cookie.</p>
</div>`,
});

/**
 * Reloads a page that another site linked to: browsers send the SameSite=Strict cookie only with navigations from this
 * site.
 */
export const returningPage = (url: string): Markup => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Agent Authorization</title>
<meta http-equiv="refresh" content="0; url=${url}"></head>
<body><p><a href="${url}">Continue</a></p></body></html>`;

/** A path within the console; `/console` in place of any other. */
export const nextWithin = (next: string | undefined): string =>
  next !== undefined && /^\/console(?:[/?][!-~]*)?$/.test(next) && !/[\\]|^\/console\/sign-/.test(next)
    ? next
    : "/console";

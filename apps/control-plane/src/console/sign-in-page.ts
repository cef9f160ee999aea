import { html } from "hono/html";
import type { Markup } from "./markup.ts";
import { notice } from "./markup.ts";

interface SignInForm {
  /** Where to go once signed in. */
  readonly next: string;
  readonly refusal?: string;
}

export const signInPage = ({ next, refusal }: SignInForm): Markup => html`<div class="sign-in">
${
  refusal !== undefined &&
  html`<div id="refusal" role="alert">${notice("deny", refusal, html`<p>Give one of the tokens of <code>SVC_AUDIT_TOKEN</code> or <code>SVC_ADMIN_TOKEN</code> as the service is configured now, the token alone: without <code>Bearer</code>, and without the label in front of its <code>=</code>.</p>`)}</div>`
}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Audit reader's token</label>
<input id="token" name="token" type="password" required autocomplete="off" spellcheck="false"${refusal !== undefined && html` aria-invalid="true" aria-describedby="refusal"`}>
<button class="primary">Sign in</button>
</form>
<p class="hint">One of <code>SVC_AUDIT_TOKEN</code>. It is exchanged for a cookie that lasts an hour and is good for these pages alone; the token itself is not kept. Away from localhost, open this page over HTTPS: without it, your browser keeps no cookie.</p>
</div>`;

/**
 * A first visit from a link elsewhere comes without the cookie, which is kept from other sites' navigations. Coming
 * again from this page, it is sent.
 */
export const returningPage = (url: string): Markup => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Agent Authorization</title>
<meta http-equiv="refresh" content="0; url=${url}"></head>
<body><p><a href="${url}">Go on</a></p></body></html>`;

/** Within the console, or its start: nobody is sent elsewhere. */
export const nextWithin = (next: string | undefined): string =>
  next !== undefined && /^\/console(?:[/?][!-~]*)?$/.test(next) && !/[\\]|^\/console\/sign-/.test(next)
    ? next
    : "/console";

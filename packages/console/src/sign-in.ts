import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { isolated, type Markup, notice } from "./markup.ts";
import type { ConsolePorts, SignInSettings, Viewer } from "./ports.ts";
import type { View } from "./view.ts";

/** Lifetime of a sign-in, of a copied cookie too. */
const signInSeconds = 3600;

const name = "svc-console";

/**
 * Sign-ins without state in the service: the cookie is an expiry and a MAC over it and the viewer's id. Neither contains
 * the token, and no token is ever a cookie.
 */
export function signIns({ key, holders, isSecure }: SignInSettings, clock: ConsolePorts["clock"]) {
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  // RFC 6265bis section 4.1.3: a browser accepts a __Host- cookie only from this host.
  const prefix = isSecure ? ({ prefix: "host" } as const) : {};
  const attributes = { path: "/", httpOnly: true, sameSite: "Strict", secure: isSecure, ...prefix } as const;
  return {
    begin(c: Context, viewer: Viewer): void {
      const end = String(nowSeconds() + signInSeconds);
      const mac = macOf(key, end, viewer).toString("base64url");
      setCookie(c, name, `${end}.${mac}`, { ...attributes, maxAge: signInSeconds });
    },
    end(c: Context): void {
      deleteCookie(c, name, attributes);
    },
    /** The viewer that the request's cookie belongs to; undefined where it is absent, altered or expired. */
    holder(c: Context): Viewer | undefined {
      const cookie = isSecure ? getCookie(c, name, "host") : getCookie(c, name);
      const [, end, mac] = /^(\d{1,12})\.([\w-]{43})$/.exec(cookie ?? "") ?? [];
      if (end === undefined || mac === undefined || Number(end) <= nowSeconds()) return undefined;
      const presented = Buffer.from(mac, "base64url");
      return holders.find((viewer) => timingSafeEqual(macOf(key, end, viewer), presented));
    },
  };
}

const macOf = (key: Uint8Array, end: string, { plane, id }: Viewer): Buffer =>
  createHmac("sha256", key).update(`${end} ${plane} ${id}`).digest();

interface SignInOffer {
  /** The path to show afterwards. */
  readonly next: string;
  /** The host of the OpenID provider, if people may sign in there. */
  readonly providerHost: string | undefined;
  /** Why the last attempt failed. */
  readonly refusal?: string;
}

const signInAddress = (next: string): string => `/sign-in?${new URLSearchParams({ next })}`;

export const signInPage = ({ next, providerHost, refusal }: SignInOffer): View => ({
  title: "Sign in",
  ...(refusal !== undefined && { status: 401 as const }),
  body: html`<div class="sign-in">
${
  providerHost !== undefined &&
  html`<p><a class="button primary" href="${signInAddress(next)}">Sign in with ${isolated(providerHost)}</a></p>
<h2>Sign in with a token</h2>`
}
${
  refusal !== undefined &&
  html`<div id="refusal" role="alert">${notice("deny", refusal, html`<p>Enter one of the tokens of <code>SVC_AUDIT_TOKEN</code> or <code>SVC_ADMIN_TOKEN</code> as the service is configured now: only the token, without <code>Bearer</code> and without the label before its <code>=</code>.</p>`)}</div>`
}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Audit reader's token</label>
<input id="token" name="token" type="password" required autocomplete="off" spellcheck="false"${refusal !== undefined && html` aria-invalid="true" aria-describedby="refusal"`}>
<button${providerHost === undefined && html` class="primary"`}>Sign in</button>
</form>
<p class="hint">One of <code>SVC_AUDIT_TOKEN</code>. The service exchanges it for a cookie that opens only these pages, for one hour; it does not store the token. Except on localhost, use HTTPS: otherwise your browser drops the cookie.</p>
</div>`,
});

/** For a person who signed in and has no role. */
export const noRolePage = (label: string): View => ({
  title: "No access",
  status: 403,
  body: html`${notice(
    "deny",
    "Your account does not open this console.",
    html`<p>You are signed in as ${isolated(label)}. Ask an administrator to add one of your groups to <code>SVC_CONSOLE_ROLES</code>, then sign in again.</p>`,
  )}
<form method="post" action="/console/sign-out"><button>Sign out</button></form>
<p><a href="/console/sign-in">Sign in with a token</a></p>`,
});

/** Reloads a page, since browsers send a SameSite=Strict cookie only with navigations from this site. */
const returningPage = (url: string): Markup => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Agent Authorization</title>
<meta http-equiv="refresh" content="0; url=${url}"></head>
<body><p><a href="${url}">Continue</a></p></body></html>`;

/** Leads to the sign-in page and back. */
export function toSignIn(c: Context): Response | Promise<Response> {
  const { pathname, search } = new URL(c.req.raw.url);
  const here = `${pathname}${search}`;
  if (c.req.header("sec-fetch-site") === "cross-site") return c.html(returningPage(here));
  return c.redirect(`/console/sign-in?${new URLSearchParams({ next: here })}`, 303);
}

/** A path within the console; `/console` in place of any other. */
export const nextWithin = (next: string | undefined): string =>
  next !== undefined && /^\/console(?:[/?][!-~]*)?$/.test(next) && !/[\\]|^\/console\/sign-/.test(next)
    ? next
    : "/console";

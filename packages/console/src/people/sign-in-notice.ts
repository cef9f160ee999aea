import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { failurePage } from "../failure-page.ts";
import { isolated, type Markup, notice } from "../markup.ts";
import type { Refusal } from "../ports.ts";
import { layout, type View } from "../view.ts";

/** Why a sign-in ends on a page of this service, and not where the person wanted to go. */
export type SignInNotice =
  | { readonly kind: "signed_out" | "other_browser" | "foreign_form" }
  /** `next`: where the sign-in was to lead. */
  | { readonly kind: "invalid" | "client_refused" | "unavailable"; readonly next?: string }
  /** `error`: the provider's code (RFC 6749 section 4.1.2.1). */
  | { readonly kind: "refused"; readonly error: string; readonly next?: string }
  | { readonly kind: "error"; readonly refusal: Refusal };

interface Surroundings {
  readonly version: string;
  /** The provider's host, as people know it. */
  readonly provider: string;
}

/** A whole page. */
export function signInNotice(shown: SignInNotice, { version, provider }: Surroundings) {
  const view = viewOf(shown, provider);
  return { status: view.status ?? 200, headers: view.headers, markup: layout(view, undefined, version) };
}

function viewOf(shown: SignInNotice, provider: string): View {
  switch (shown.kind) {
    case "error":
      return failurePage(shown.refusal);
    case "signed_out":
      return {
        title: "Signed out",
        body: html`<p>You are signed out of this service. At ${isolated(provider)} you may still be signed in.</p>
<p><a href="/sign-in?prompt=login">Sign in again</a></p>`,
      };
    case "other_browser":
      return failed(400, "This sign-in was not begun in this browser, or more than ten minutes ago.", startAgain());
    case "foreign_form":
      return failed(
        400,
        "The form was not sent from this service.",
        html`<p>Nothing was changed. Go back and try again.</p>`,
      );
    case "invalid":
      return failed(
        400,
        `The answer of ${provider} does not belong to this sign-in, or was used before.`,
        startAgain(shown.next),
      );
    case "client_refused":
      return failed(
        503,
        `${provider} does not accept this service as its client.`,
        html`<p>An operator must correct <code>SVC_IDP_CLIENT_ID</code> and <code>SVC_IDP_CLIENT_SECRET</code>. The service's log has what the provider returned.</p>`,
      );
    case "unavailable":
      return failed(
        503,
        `${provider} does not respond.`,
        html`<p>Nothing is wrong with your account. Wait a minute, then ${again(shown.next)}. If it stays, an operator must check <code>SVC_IDP_ISSUER</code> and the way from this service to it; the service's log has the cause.</p>`,
        { "Retry-After": "60" },
      );
    case "refused":
      return failed(
        403,
        refusalWords(shown.error, provider),
        html`${startAgain(shown.next)}<p class="hint">Code: <code>${shown.error}</code></p>`,
      );
  }
}

const failed = (status: ContentfulStatusCode, heading: string, advice: Markup, headers?: View["headers"]): View => ({
  title: "Sign-in failed",
  status,
  ...(headers && { headers }),
  body: notice("deny", heading, advice),
});

const again = (next?: string): Markup =>
  html`<a href="/sign-in${next !== undefined && `?${new URLSearchParams({ next })}`}">sign in again</a>`;

const startAgain = (next?: string): Markup =>
  html`<p>You are not signed in. To start from the beginning, ${again(next)}.</p>`;

/** By the provider's code. */
const words: Readonly<Record<string, (provider: string) => string>> = {
  access_denied: (provider) =>
    `The sign-in was refused at ${provider}: it was cancelled, or your account may not use this service.`,
  temporarily_unavailable: (provider) => `${provider} cannot sign anybody in at present.`,
  server_error: (provider) => `${provider} had an error of its own.`,
  login_required: (provider) => `${provider} could not sign you in without a further step.`,
  interaction_required: (provider) => `${provider} could not sign you in without a further step.`,
  consent_required: (provider) => `At ${provider} this service is not yet allowed to know who you are.`,
};

const refusalWords = (error: string, provider: string): string =>
  (Object.hasOwn(words, error) ? words[error]?.(provider) : undefined) ??
  `${provider} refused the request of this service; an operator must correct its settings.`;

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { ConsoleRole } from "@svc/core";
import type { Context } from "hono";
import type { Clock } from "../ports/clock.ts";
import type { SignIn, SignIns } from "../ports/sign-ins.ts";
import { hostCookie } from "./cookies.ts";
import type { People } from "./deps.ts";

/** The person whose browser sent a request. */
export interface SignedIn {
  /** A UUIDv7. */
  readonly signInId: string;
  /** Of the provider, in its own spelling. */
  readonly issuer: string;
  /** `sub` at that provider. */
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  readonly roles: readonly ConsoleRole[];
  /** base64url(SHA-256) of the ID token. */
  readonly idTokenHash: string;
  readonly expiresAtMs: number;
}

export interface SignInPages {
  /** Reads the sign-in of the request's cookie; undefined where it is absent, over or ended. */
  holder(c: Context): Promise<SignedIn | undefined>;
  /** 303 to `/sign-in`, which leads back to the path and query of this GET request. */
  toSignIn(c: Context): Response;
  /** For a hidden field of every form: no other site knows it. */
  formToken(signedIn: SignedIn): string;
  /** Whether a form was sent by a page of ours, for this person: by its token, and by the browser's word for its origin. */
  isOwnForm(c: Context, signedIn: SignedIn, token: string | undefined): boolean;
}

const cookieName = "svc-person";
/** Lifetime of a sign-in, of a copied cookie too. */
export const signInSeconds = 3_600;

export const personCookie = (c: Context, settings: Pick<People, "isSecure">) => hostCookie(c, cookieName, settings);

/** With the provider in it: once the settings name another one, no earlier cookie counts. */
export const cookieHash = (value: string, { providerIssuer }: Pick<People, "providerIssuer">): Uint8Array =>
  createHash("sha256").update(`${value} ${providerIssuer.href}`).digest();

interface PagesDeps {
  readonly people: People;
  readonly signIns: Pick<SignIns, "running">;
  readonly clock: Clock;
}

export function signInPages({ people, signIns, clock }: PagesDeps): SignInPages {
  const tokenOf = ({ signInId }: SignedIn): Buffer => createHmac("sha256", people.formKey).update(signInId).digest();
  return {
    async holder(c) {
      const value = personCookie(c, people).value();
      if (value === undefined || !/^[\w-]{43}$/.test(value)) return undefined;
      const found = await signIns.running(cookieHash(value, people), clock.nowMs());
      return found && toSignedIn(found, people);
    },
    toSignIn(c) {
      const { pathname, search } = new URL(c.req.raw.url);
      return c.redirect(`/sign-in?${new URLSearchParams({ next: `${pathname}${search}` })}`, 303);
    },
    formToken: (signedIn) => tokenOf(signedIn).toString("base64url"),
    isOwnForm(c, signedIn, token) {
      const presented = Buffer.from(token ?? "", "base64url");
      const own = tokenOf(signedIn);
      return isFromOwnPage(c) && presented.length === own.length && timingSafeEqual(presented, own);
    },
  };
}

function toSignedIn({ signInId, issuer, subject, name, email, groups, ...facts }: SignIn, people: People): SignedIn {
  const { idTokenHash, expiresAtMs } = facts;
  const said = { ...(name !== null && { name }), ...(email !== null && { email }) };
  return { signInId, issuer, subject, ...said, roles: people.rolesOf(groups), idTokenHash, expiresAtMs };
}

/**
 * By `Sec-Fetch-Site`, which no page can set (Fetch Metadata), else by `Origin`. RFC 9110 section 7.2: behind a proxy
 * that ends TLS only the host of both is the same.
 */
export function isFromOwnPage(c: Context): boolean {
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = c.req.header("origin");
  return origin !== undefined && URL.parse(origin)?.host === c.req.header("host");
}

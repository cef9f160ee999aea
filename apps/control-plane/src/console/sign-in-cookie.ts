import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Bearer } from "../http/bearers.ts";
import type { Clock } from "../ports/clock.ts";

/** How long a sign-in lasts; a copied cookie lasts no longer. */
export const signInSeconds = 3600;

const name = "svc-console";

export interface SignInSettings {
  /** The same in every process, so that each takes what another signed. */
  readonly key: Uint8Array;
  /** Those whose token may sign in; once a token is taken from the settings, its sign-ins are over. */
  readonly holders: readonly Bearer[];
  /** False only where the console is reached without TLS, on loopback or in development. */
  readonly isSecure: boolean;
}

export interface SignIns {
  begin(c: Context, bearer: Bearer): void;
  end(c: Context): void;
  /** Whose sign-in the request carries; undefined for none, an altered one, and one that is over. */
  holder(c: Context): Bearer | undefined;
}

/**
 * Sign-ins without any state in the service: the cookie is an end and a MAC over it and the bearer's identity. It holds
 * nothing of the token, and no token is ever a cookie.
 */
export function signIns({ key, holders, isSecure }: SignInSettings, clock: Clock): SignIns {
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  // RFC 6265bis section 4.1.3: a browser takes a __Host- cookie from this very host alone.
  const prefix = isSecure ? ({ prefix: "host" } as const) : {};
  const attributes = { path: "/", httpOnly: true, sameSite: "Strict", secure: isSecure, ...prefix } as const;
  return {
    begin(c, bearer) {
      const end = String(nowSeconds() + signInSeconds);
      const mac = macOf(key, end, bearer).toString("base64url");
      setCookie(c, name, `${end}.${mac}`, { ...attributes, maxAge: signInSeconds });
    },
    end: (c) => void deleteCookie(c, name, attributes),
    holder(c) {
      const cookie = isSecure ? getCookie(c, name, "host") : getCookie(c, name);
      const [, end, mac] = /^(\d{1,12})\.([\w-]{43})$/.exec(cookie ?? "") ?? [];
      if (end === undefined || mac === undefined || Number(end) <= nowSeconds()) return undefined;
      const presented = Buffer.from(mac, "base64url");
      return holders.find((bearer) => timingSafeEqual(macOf(key, end, bearer), presented));
    },
  };
}

const macOf = (key: Uint8Array, end: string, { plane, id }: Bearer): Buffer =>
  createHmac("sha256", key).update(`${end} ${plane} ${id}`).digest();

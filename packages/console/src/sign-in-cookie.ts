import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { ConsolePorts, SignInSettings, Viewer } from "./ports.ts";

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

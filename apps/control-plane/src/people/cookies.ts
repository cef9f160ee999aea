import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

interface CookieSettings {
  readonly isSecure: boolean;
}

/** RFC 6265bis section 4.1.3: a browser takes a `__Host-` cookie only from this host, over TLS. */
export const hostPrefix = "__Host-";

/** A cookie that scripts cannot read, and that other sites' requests carry only with a navigation to a page. */
export function hostCookie(c: Context, name: string, { isSecure }: CookieSettings) {
  const prefix = isSecure ? ({ prefix: "host" } as const) : {};
  const attributes = { path: "/", httpOnly: true, sameSite: "Lax", secure: isSecure, ...prefix } as const;
  return {
    value: (): string | undefined => (isSecure ? getCookie(c, name, "host") : getCookie(c, name)),
    set: (value: string, maxAge: number): void => setCookie(c, name, value, { ...attributes, maxAge }),
    remove: (): void => {
      deleteCookie(c, name, attributes);
    },
  };
}

/**
 * Of every page for people: no foreign resources, no scripts, no framing, no caching (CSP level 3; RFC 9111). A
 * response may set another `Referrer-Policy`: under `no-referrer` a browser sends `Origin: null` with a form.
 */
export const pageHeaders = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

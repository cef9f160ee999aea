import { AdmissionRefused } from "./admission.ts";

/** A `Headers`, or a plain record as Node and most frameworks give it; names in any case. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a call brought along; a header that came twice is refused rather than chosen from. */
export interface Credentials {
  readonly accessToken: string;
  readonly sessionId: string | undefined;
  readonly transactionToken: string | undefined;
  readonly identityAssertion: string | undefined;
}

/** RFC 6750 section 2.1. */
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** @throws {AdmissionRefused} `missing_token`, or `malformed` where a header came twice or holds no token */
export function readCredentials(headers: RequestHeaders): Credentials {
  // Beside an application's own `Authorization`, the enforcement point sends the narrowed token under this name.
  const authorization = single(headers, "x-svc-authorization") ?? single(headers, "authorization");
  if (authorization === undefined || !/^Bearer\b/i.test(authorization)) throw new AdmissionRefused("missing_token");
  const accessToken = bearer.exec(authorization)?.[1];
  if (accessToken === undefined) throw new AdmissionRefused("malformed");
  return {
    accessToken,
    sessionId: single(headers, "x-svc-session"),
    transactionToken: single(headers, "txn-token"),
    identityAssertion: single(headers, "agent-identity"),
  };
}

function single(headers: RequestHeaders, name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name);
  if (more.length > 0) throw new AdmissionRefused("malformed");
  return value;
}

/** A `Headers` joins repeated values with a comma, which no token and no session id contains. */
function valuesOf(headers: RequestHeaders, name: string): readonly string[] {
  if (headers instanceof Headers) return [headers.get(name) ?? []].flat();
  return Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []));
}

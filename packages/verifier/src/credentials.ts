import type { ContentHeaders } from "@svc/tokens";
import { AdmissionRefused } from "./admission.ts";

/** A `Headers`, or a plain record as in Node and most frameworks; names in any case. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
export type HeaderRecord = Exclude<RequestHeaders, Headers>;

export interface Credentials {
  readonly accessToken: string;
  readonly sessionId: string | undefined;
  readonly transactionToken: string | undefined;
  readonly identityAssertion: string | undefined;
}

/** RFC 6750 section 2.1. */
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

const names = ["authorization", "x-svc-authorization", "x-svc-session", "txn-token", "agent-identity"] as const;
type Name = (typeof names)[number];
const isName = (name: string): name is Name => (names as readonly string[]).includes(name);

/** @throws {AdmissionRefused} `missing_token`, or `malformed` for a repeated header or one without a token */
export function readCredentials(headers: RequestHeaders): Credentials {
  const found = credentialsIn(recordOf(headers));
  // The enforcement point sends the narrowed token so beside an application's own `Authorization`.
  const authorization = found.get("x-svc-authorization") ?? found.get("authorization");
  if (authorization === undefined || !/^Bearer\b/i.test(authorization)) throw new AdmissionRefused("missing_token");
  const accessToken = bearer.exec(authorization)?.[1];
  if (accessToken === undefined) throw new AdmissionRefused("malformed");
  return {
    accessToken,
    sessionId: found.get("x-svc-session"),
    transactionToken: found.get("txn-token"),
    identityAssertion: found.get("agent-identity"),
  };
}

/** A `Headers` joins repeated values with a comma, which no token, session id or media type contains. */
const recordOf = (headers: RequestHeaders): HeaderRecord =>
  headers instanceof Headers ? Object.fromEntries(headers) : headers;

/** Every value of the headers that say how a body is to be read. */
export function contentHeaders(headers: RequestHeaders): ContentHeaders {
  const record = recordOf(headers);
  const valuesOf = (wanted: string) =>
    Object.entries(record).flatMap(([name, values]) => (name.toLowerCase() === wanted ? (values ?? []) : []));
  return { contentType: valuesOf("content-type"), contentEncoding: valuesOf("content-encoding") };
}

function credentialsIn(record: HeaderRecord): ReadonlyMap<Name, string> {
  const found = new Map<Name, string>();
  for (const key of Object.keys(record)) {
    const name = key.toLowerCase();
    const value = record[key];
    if (value === undefined || !isName(name)) continue;
    for (const each of typeof value === "string" ? [value] : value) {
      if (found.has(name)) throw new AdmissionRefused("malformed");
      found.set(name, each);
    }
  }
  return found;
}

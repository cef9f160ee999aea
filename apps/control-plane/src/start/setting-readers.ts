import { createHash } from "node:crypto";
import { agentName, type ConsoleRole, consoleRoles, scopeName } from "@svc/core";
import { commaList, httpUrl, text } from "@svc/host";
import { z } from "zod";
import { parseAllowedDestination } from "../discovery/allow-list.ts";
import { isRedirectUri } from "../discovery/redirect-uri.ts";
import type { OAuthClient } from "../ports/oauth-clients.ts";
import type { RateBudget } from "../ports/rate-limit.ts";
import { parseStoreAddress } from "../redis/address.ts";

export interface ListedToken {
  readonly label: string | undefined;
  readonly token: string;
}

/** `label=token`; the token is a token68 (RFC 6750 section 2.1), or no client could send it. */
const tokenEntry = /^(?:([A-Za-z0-9][A-Za-z0-9._@-]{0,63})=)?([A-Za-z0-9._~+/-]{32,4096}={0,2})$/;

const listOf = <T>(read: (entry: string) => T | undefined, fault: string) =>
  commaList.transform((entries, context): readonly T[] => {
    const values = entries.map(read).filter((value) => value !== undefined);
    if (values.length < entries.length) context.addIssue(fault);
    return values;
  });

export const tokenList = listOf(
  readToken,
  "each entry must be a token of at least 32 of A-Z a-z 0-9 . _ ~ + / -, or label=token",
);

function readToken(entry: string): ListedToken | undefined {
  const [, label, token] = tokenEntry.exec(entry) ?? [];
  return token === undefined ? undefined : { label, token };
}

/** A token68, whatever its length: another party made it. */
export const bearerText = text.regex(/^[A-Za-z0-9._~+/-]{1,4096}={0,2}$/, "must be a bearer token");

export interface ConsoleRoleOfValue {
  /** Of the claim. */
  readonly value: string;
  readonly role: ConsoleRole;
}

/** `value=role`. The value may hold `=`. */
export const consoleRoleList = listOf(
  (entry): ConsoleRoleOfValue | undefined => {
    const at = entry.lastIndexOf("=");
    const role = consoleRoles.find((name) => name === entry.slice(at + 1));
    return at < 1 || role === undefined ? undefined : { value: entry.slice(0, at), role };
  },
  `each entry must be value=role, the role one of ${consoleRoles.join(", ")}`,
);

export const allowedDestinations = listOf(parseAllowedDestination, "each entry must be a host, an address or a CIDR");

const jsonText = text.transform((json, context): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    context.addIssue("must be JSON");
    return z.NEVER;
  }
});

/** RFC 9110 section 5.5. */
const headerValue = z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, "must be the text of a header");

export const authorization = text.pipe(headerValue);

/** OTLP's own default path is never added: a collector behind a path would be missed. */
export const otlpLogsUrl = httpUrl.refine(({ pathname }) => pathname !== "/", "must have a path, such as /v1/logs");

/** An address in which the identifiers of a decision are put. */
export const traceLink = text
  .refine((link) => link.includes("{action_id}"), "must have {action_id} where the decision's id belongs")
  .refine((link) => httpUrl.safeParse(link).success, "must be an http or https URL without credentials");

/** By origin, the value of `Authorization`. */
export const discoveryCredentials = jsonText
  .pipe(
    z.record(
      z
        .string()
        .refine(
          (key) => /^https?:/.test(key) && URL.parse(key)?.origin === key,
          "each key must be an origin, such as https://ledger.internal",
        ),
      headerValue,
    ),
  )
  .transform((byOrigin): ReadonlyMap<string, string> => new Map(Object.entries(byOrigin)));

export const databaseUrl = text.refine(
  (address) => /^postgres(ql)?:$/.test(URL.parse(address)?.protocol ?? ""),
  "must be a postgres:// URL",
);

export const storeUrl = text.superRefine((address, context) => {
  try {
    parseStoreAddress(address);
  } catch (error) {
    context.addIssue(error instanceof TypeError ? error.message : "must be a redis:// URL");
  }
});

/** RFC 8414 section 2: a URL without query and fragment. It is compared as text, so it stays as given. */
export const issuerUrl = text.refine((address) => {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(address) && url.username === "";
}, "must be an http or https URL without query, fragment or credentials");

export const base64Key = text
  .regex(/^[A-Za-z0-9+/]{43}=$/, "must be 32 bytes in base64")
  .transform((base64) => new Uint8Array(Buffer.from(base64, "base64")));

const rate = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/;

/** `600/60`: so many calls in so many seconds. */
export const rateBudget = text.transform((written, context): RateBudget => {
  const [, calls, seconds] = rate.exec(written) ?? [];
  if (calls !== undefined && Number(seconds) <= 86_400) return { calls: Number(calls), seconds: Number(seconds) };
  context.addIssue("must be calls/seconds, as 600/60, of at most a day");
  return z.NEVER;
});

/** `*`, `none`, or scopes, as a test of one scope. */
export const scopeSet = commaList
  .refine(
    (names) => names.length === 1 || !names.some((name) => name === "*" || name === "none"),
    "must be a list of scopes, or * or none alone",
  )
  .refine((names) => names.every((name) => scopeName.safeParse(name).success), "each entry must be a scope")
  .transform((names) => {
    const [only] = names;
    if (only === "*") return () => true;
    return (scope: string): boolean => only !== "none" && names.includes(scope);
  });

const isEachOnce = (names: readonly string[]): boolean => new Set(names).size === names.length;

/** `payments-approval=60`: a scope may hold a `=`, its seconds follow the last one. */
export const secondsByScope = listOf((entry) => {
  const [, name, digits] = /^(.+)=(\d{2,5})$/.exec(entry) ?? [];
  const seconds = Number(digits);
  const isFine = scopeName.safeParse(name).success && seconds >= 60 && seconds <= 86_400;
  return isFine ? ([name ?? "", seconds] as const) : undefined;
}, "each entry must be scope=seconds, of 60 to 86400")
  .refine((entries) => isEachOnce(entries.map(([scope]) => scope)), "each scope must be named once")
  .transform((entries): ReadonlyMap<string, number> => new Map(entries));

/** RFC 8707 section 2: absolute, without a fragment. */
export const resourceList = listOf((entry) => {
  const url = URL.parse(entry);
  const isFine = url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(entry) && url.username === "";
  return isFine ? url : undefined;
}, "each entry must be an http or https URL without query and fragment");

const oauthClient = z
  .strictObject({
    client_id: z.string().regex(/^[\x20-\x7e]{1,255}$/, "must be printable ASCII (RFC 6749 appendix A)"),
    client_name: z.string().min(1).max(200),
    redirect_uris: z
      .array(z.string().refine(isRedirectUri, "must be https, http on loopback, or an application's own scheme"))
      .min(1),
    client_secret: z.string().min(32).max(255).optional(),
    scope: z.string().min(1).max(2_000).optional(),
    agent: agentName.optional(),
  })
  .transform(
    ({
      client_id: clientId,
      client_name: name,
      redirect_uris: redirectUris,
      client_secret: secret,
      scope,
      agent,
    }): OAuthClient => ({
      clientId,
      name,
      redirectUris,
      scope,
      secretHash: secret === undefined ? undefined : createHash("sha256").update(secret).digest(),
      agent,
    }),
  );

/** By `client_id`. */
export const oauthClients = jsonText
  .pipe(z.array(oauthClient))
  .refine((clients) => isEachOnce(clients.map(({ clientId }) => clientId)), "each client_id must be named once")
  .transform(
    (clients): ReadonlyMap<string, OAuthClient> => new Map(clients.map((client) => [client.clientId, client])),
  );

/** Standard Webhooks 1.0: symmetric secrets have a prefix and 24 to 64 bytes. */
export const webhookSecret = text.refine((written) => {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(written)?.[1];
  const length = base64 === undefined ? 0 : Buffer.from(base64, "base64").length;
  return length >= 24 && length <= 64;
}, "must be whsec_ and 24 to 64 bytes in base64");

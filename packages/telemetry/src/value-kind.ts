/** Kinds of values, each with a type and a check at run time: no cast and no wire passes the contract. */

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** 32 hex characters made by the keyed pseudonym function, and by nothing else. */
export type Pseudonym = Branded<"pseudonym">;
/** A name that the disclosure opt-in released; only `createIdentities` makes one. */
export type Disclosed = Branded<"disclosed">;
/** The class name of an exception; only `errorType` makes one. */
export type ErrorType = Branded<"error type">;

type NamedKind = keyof typeof isAllowed;

/** A named kind, or the closed list of the strings allowed. */
export type ValueKind = NamedKind | readonly string[];

export type ValueOf<K> = K extends readonly (infer V)[]
  ? V
  : K extends "ordinal" | "integer" | "http_status"
    ? number
    : K extends "boolean"
      ? boolean
      : K extends "pseudonym"
        ? Pseudonym
        : K extends "plaintext"
          ? Disclosed
          : K extends "error_type"
            ? ErrorType
            : string;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const dataClass = /^[A-Za-z0-9._:/@#-]{1,255}(?: [A-Za-z0-9._:/@#-]{1,255})*$/;
const className = /^[A-Za-z_$][\w$]{0,63}$/;

/** The spans and lines of a hop have the same two ids, or pseudonyms: the last two that matched are not matched again. */
function matches(pattern: RegExp): Check {
  let last: unknown;
  let lastButOne: unknown;
  return (value) => {
    if (typeof value !== "string") return false;
    if (value === last || value === lastButOne) return true;
    if (!pattern.test(value)) return false;
    lastButOne = last;
    last = value;
    return true;
  };
}

const isAllowed = {
  uuid: matches(uuid),
  ordinal: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
  integer: Number.isSafeInteger,
  boolean: (value) => typeof value === "boolean",
  data_class: (value) => typeof value === "string" && value.length <= 4096 && dataClass.test(value),
  pseudonym: matches(/^[0-9a-f]{32}$/),
  plaintext: (value) => typeof value === "string",
  error_type: matches(className),
  http_method: (value) => typeof value === "string",
  http_status: (value) => Number.isSafeInteger(value) && Number(value) >= 100 && Number(value) <= 599,
  trace_id: matches(/^[0-9a-f]{32}$/),
  span_id: matches(/^[0-9a-f]{16}$/),
} satisfies Record<string, Check>;

export type Check = (value: unknown) => boolean;

export const checkOf = (kind: ValueKind): Check => {
  if (typeof kind === "string") return isAllowed[kind];
  const allowed = new Set<unknown>(kind);
  return (value) => allowed.has(value);
};

const httpMethods = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]);

/** A method a caller made up is `_OTHER` (OpenTelemetry HTTP semantic conventions). */
export const knownHttpMethod = (method: string): string => (httpMethods.has(method) ? method : "_OTHER");

/** The class name of a caught value, never its `name` or `message`, which may quote a request; `Error` for others. */
export function errorType(error: unknown): ErrorType {
  const name = error instanceof Error ? error.constructor.name : "Error";
  return (className.test(name) ? name : "Error") as ErrorType;
}

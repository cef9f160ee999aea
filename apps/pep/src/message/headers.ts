import { foldedName, hopByHop, isOurs, mayPass } from "./header-names.ts";

/** Name, value, ...: as received, in order, with repeats and spelling. */
export type RawHeaders = readonly string[];

/** Every value of a header, in order, by its exact spelling. */
export const valuesOf = (headers: RawHeaders, name: string): string[] =>
  // Most names differ in length, and each call's headers are searched a dozen times.
  valuesWhere(headers, (received) => received.length === name.length && received.toLowerCase() === name);

/** The values of every spelling that folds to the same name. */
export const valuesInAnySpelling = (headers: RawHeaders, name: string): string[] => {
  const folded = foldedName(name);
  return valuesWhere(headers, (received) => foldedName(received) === folded);
};

function valuesWhere(headers: RawHeaders, isWanted: (name: string) => boolean): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (isWanted(name)) values.push(value);
  }
  return values;
}

/**
 * The names, folded, that `Connection` headers nominate; all instances count (RFC 9110 section 7.6.1). Headers of the
 * content cannot be nominated there: a body must arrive under the type by which it was read.
 */
function nominatedIn(headers: RawHeaders): ReadonlySet<string> {
  const values = valuesOf(headers, "connection");
  const names = values.flatMap((value) => value.split(",").map(foldedName));
  return new Set(names.filter((name) => !name.startsWith("content")));
}

const via = "svc-pep";

/**
 * The agent's headers for an upstream, then our own: no header of the agent's can nominate, repeat or imitate one of ours.
 * @param own name, value, ...: replace headers of the same name
 */
export function requestHeaders(received: RawHeaders, httpVersion: string, own: RawHeaders): string[] {
  const nominated = nominatedIn(received);
  const replaced = new Set(own.filter((_, index) => index % 2 === 0).map(foldedName));
  const kept = keep(received, (name) => mayPass(name) && !nominated.has(name) && !replaced.has(name));
  return [...kept, "via", `${httpVersion} ${via}`, ...own];
}

/**
 * The agent's headers for a host that is none of ours to judge: all but what belongs to one connection or to a proxy, and what
 * is ours. @param own name, value, ...: replace headers of the same name
 */
export function untouchedHeaders(received: RawHeaders, httpVersion: string, own: RawHeaders): string[] {
  const nominated = nominatedIn(received);
  const replaced = new Set(own.filter((_, index) => index % 2 === 0).map(foldedName));
  const isFramed = (name: string) => /^(?:authorization|contentlength|expect|host|trailer|proxy.*)$/.test(name);
  const kept = keep(
    received,
    (name) => !hopByHop.has(name) && !isOurs(name) && !isFramed(name) && !nominated.has(name) && !replaced.has(name),
  );
  return [...kept, "via", `${httpVersion} ${via}`, ...own];
}

/** RFC 9110 section 6.5.1. */
export const acceptsTrailers = (received: RawHeaders): boolean =>
  valuesOf(received, "te").some((value) => /(?:^|,)\s*trailers\s*(?:,|$)/i.test(value));

/**
 * An upstream's headers or trailers for the agent: without hop-by-hop headers, without our own names, so that no upstream
 * can imitate a block, without `Alt-Svc`, which leads clients past this listener, and without a header that contains one
 * of `secrets`.
 */
export function responseHeaders(received: RawHeaders, secrets: readonly string[]): string[] {
  const nominated = nominatedIn(received);
  const isLeak = (value: string) => secrets.some((secret) => value.includes(secret));
  return keep(
    received,
    (name, value) =>
      !hopByHop.has(name) && !isOurs(name) && name !== "altsvc" && !nominated.has(name) && !isLeak(value),
  );
}

export const responseVia = ["via", `1.1 ${via}`] as const;

/** Whether this process could undo the transfer codings of an answer: chunked alone, since no other is asked for. */
export const isTransferReadable = (received: RawHeaders): boolean =>
  valuesOf(received, "transfer-encoding").every((value) => value.trim().toLowerCase() === "chunked");

/** A 204 has no length (RFC 9110 section 8.6); only a chunked answer has trailers (RFC 9112 section 7.1.2). */
export function settledHeaders(
  headers: string[],
  status: number,
  request: { method?: string | undefined; httpVersion: string },
): string[] {
  const settled = status === 204 ? without(headers, "content-length") : headers;
  const isInChunks =
    request.method !== "HEAD" &&
    request.httpVersion !== "1.0" &&
    status !== 204 &&
    status !== 304 &&
    valuesOf(settled, "content-length").length === 0;
  return isInChunks ? settled : without(settled, "trailer");
}

export const without = (headers: string[], name: string): string[] =>
  headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name);

/** Headers as Node represents them: lower-case names, a list only for repeated ones. */
export function recordOf(headers: RawHeaders): Record<string, string | string[]> {
  // A header may be named `__proto__`.
  const record: Record<string, string | string[]> = Object.create(null);
  for (const [spelled, value] of pairs(headers)) {
    const name = spelled.toLowerCase();
    const before = record[name];
    record[name] = before === undefined ? value : [before, value].flat();
  }
  return record;
}

export const pairs = (headers: RawHeaders): [string, string][] =>
  headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? ""] as [string, string]] : []));

/** @param isKept given the folded name */
function keep(headers: RawHeaders, isKept: (name: string, value: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (isKept(foldedName(name), value)) kept.push(name, value);
  }
  return kept;
}

/** Name, value, name, value, ...: as received, in order, repeats and spelling kept. */
export type RawHeaders = readonly string[];

/** `X_Svc_Session` reaches a CGI-like server as `X-Svc-Session` does, so both are one name here. */
const normalName = (name: string): string =>
  name.includes("_") ? name.toLowerCase().replaceAll("_", "-") : name.toLowerCase();

/** RFC 9110 section 7.6.1: between two neighbours only. */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/**
 * What an agent may not say to an upstream: who it is, where it came from, and that another method or URL is meant
 * (contract: What happens to a call). Trace context is the enforcement point's own; framing belongs to each hop.
 */
const notForAgents: ReadonlySet<string> = new Set([
  "authorization",
  "baggage",
  "content-length",
  "expect",
  "forwarded",
  "host",
  "traceparent",
  "tracestate",
  "trailer",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-method",
  "x-original-uri",
  "x-original-url",
  "x-rewrite-url",
]);

const isOurs = (name: string): boolean =>
  name.startsWith("x-svc-") || name === "txn-token" || name === "agent-identity";

const isDropped = (name: string): boolean =>
  hopByHop.has(name) || notForAgents.has(name) || name.startsWith("x-forwarded-") || isOurs(name);

/** Every value of a header, in order. Exactly this spelling: look-alikes are nobody's credential. */
export const valuesOf = (headers: RawHeaders, name: string): string[] =>
  // A call's headers are looked through a dozen times, and most differ in length already.
  valuesWhere(headers, (received) => received.length === name.length && received.toLowerCase() === name);

/** The values of look-alikes too. */
export const valuesInAnySpelling = (headers: RawHeaders, name: string): string[] =>
  valuesWhere(headers, (received) => normalName(received) === name);

function valuesWhere(headers: RawHeaders, isWanted: (name: string) => boolean): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (isWanted(name)) values.push(value);
  }
  return values;
}

/** Names that some `Connection` header nominates: all instances count, the empty ones too (RFC 9110 section 7.6.1). */
function nominatedIn(headers: RawHeaders): ReadonlySet<string> {
  const values = valuesOf(headers, "connection");
  // Mostly `keep-alive`, which goes no further anyway.
  if (values.every((value) => hopByHop.has(value))) return hopByHop;
  return new Set(values.flatMap((value) => value.split(",").map((name) => normalName(name.trim()))));
}

const via = "svc-pep";

/**
 * The agent's headers as an upstream may see them, and then our own, so that no header of the agent's can nominate,
 * repeat or imitate one of ours.
 *
 * @param own name, value, ...: replace headers of the same name
 */
export function requestHeaders(received: RawHeaders, httpVersion: string, own: RawHeaders): string[] {
  const nominated = nominatedIn(received);
  const replaced = new Set(own.filter((_, index) => index % 2 === 0).map(normalName));
  const kept = keep(received, (name) => !isDropped(name) && !nominated.has(name) && !replaced.has(name));
  return [...kept, "via", `${httpVersion} ${via}`, ...own];
}

/** Whether the agent takes response trailers (RFC 9110 section 6.5.1). */
export const acceptsTrailers = (received: RawHeaders): boolean =>
  valuesOf(received, "te").some((value) => /(?:^|,)\s*trailers\s*(?:,|$)/i.test(value));

/**
 * An upstream's headers as the agent may see them: without what is between neighbours, without any name of ours, so
 * that no upstream can imitate a block, and without a header that repeats one of `secrets`. Serves trailers too.
 */
export function responseHeaders(received: RawHeaders, secrets: readonly string[]): string[] {
  const nominated = nominatedIn(received);
  const isLeak = (value: string) => secrets.some((secret) => value.includes(secret));
  return keep(
    received,
    (name, value) => !hopByHop.has(name) && !isOurs(name) && !nominated.has(name) && !isLeak(value),
  );
}

export const responseVia = ["via", `1.1 ${via}`] as const;

/**
 * What framing leaves of an answer's headers: a 204 has no length (RFC 9110 section 8.6), and only an answer in chunks has
 * trailers to announce (RFC 9112 section 7.1.2).
 */
export function settledHeaders(
  headers: string[],
  status: number,
  asked: { method?: string | undefined; httpVersion: string },
): string[] {
  const settled = status === 204 ? without(headers, "content-length") : headers;
  const isInChunks =
    asked.method !== "HEAD" &&
    asked.httpVersion !== "1.0" &&
    status !== 204 &&
    status !== 304 &&
    valuesOf(settled, "content-length").length === 0;
  return isInChunks ? settled : without(settled, "trailer");
}

export const without = (headers: string[], name: string): string[] =>
  headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name);

/** As Node has headers: names in small letters, a string, and a list only for what is repeated. */
export function recordOf(headers: RawHeaders): Record<string, string | string[]> {
  // A header may bear the name of what every object has.
  const record: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at]?.toLowerCase(), headers[at + 1]];
    const before = record[name];
    record[name] = before === undefined ? value : [before, value].flat();
  }
  return record;
}

function keep(headers: RawHeaders, isKept: (name: string, value: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (isKept(normalName(name), value)) kept.push(name, value);
  }
  return kept;
}

import { type IncomingMessage, STATUS_CODES } from "node:http";

/** Why a request is not served, whatever the application: it is not HTTP/1.1 as RFC 9112 wants it. */
export interface HttpRefusal {
  readonly status: number;
  readonly code: "invalid_request" | "method_not_allowed" | "payload_too_large";
  readonly message: string;
}

const refusal = (status: number, message: string, code: HttpRefusal["code"] = "invalid_request"): HttpRefusal => ({
  status,
  code,
  message,
});

const malformed = refusal(400, "The request is not well-formed HTTP/1.1.");
const unknownVersion = refusal(505, "Only HTTP/1.1 and HTTP/1.0 are served here.");
const unknownMethod = refusal(501, "The method is not implemented here.", "method_not_allowed");
export const noTunnel = refusal(501, "CONNECT is not implemented here: this is no proxy.", "method_not_allowed");
export const unknownExpectation = refusal(417, "The only expectation that is met is 100-continue.");

const parserRefusals: Readonly<Record<string, HttpRefusal>> = {
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refusal(413, "The chunk extensions are too large: send none.", "payload_too_large"),
  HPE_PAUSED_H2_UPGRADE: unknownVersion,
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, "The request did not arrive in time: send it again."),
};

export interface ParserError extends Error {
  readonly code?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** For what the parser refuses; undefined: the connection failed. */
export function refusalOfParser(error: ParserError, maxHeaderBytes: number): HttpRefusal | undefined {
  const { code = "" } = error;
  if (!code.startsWith("HPE_") && code !== "ERR_HTTP_REQUEST_TIMEOUT") return undefined;
  if (code === "HPE_HEADER_OVERFLOW") {
    return refusal(431, `The request line and the headers may have at most ${maxHeaderBytes / 1024} KiB together.`);
  }
  if (code === "HPE_INVALID_METHOD" && /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r\n/.test(lineOf(error))) {
    return unknownMethod;
  }
  if (code === "HPE_INVALID_VERSION" && /^\S+ +\S+ +HTTP\/\d\.\d\r\n/.test(lineOf(error))) return unknownVersion;
  return parserRefusals[code] ?? malformed;
}

/** Of a request that the parser refused before its end; true where a received line could begin such a request. */
export const mayBeHead = ({ rawPacket }: ParserError): boolean =>
  /(?:^|\n)HEAD /.test(rawPacket?.toString("latin1") ?? "");

/** From the start of the line that the parser gave up in. */
function lineOf({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString("latin1") ?? "";
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf("\n", bytesParsed - 1) + 1);
}

const maxHeaders = 1_000;

/** For what Node's parser lets pass. @param isProxy judges the form of the target itself */
export function refusalOf(request: IncomingMessage, isProxy: boolean): HttpRefusal | undefined {
  const { httpVersion, rawHeaders, method, url = "" } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return unknownVersion;
  if (rawHeaders.length / 2 > maxHeaders) return refusal(431, `A request may have at most ${maxHeaders} headers.`);
  if (!hasOneHost(request)) return refusal(400, "The request names no valid host, or more than one.");
  if (!isProxy && (url.includes("#") || (url === "*" && method !== "OPTIONS"))) {
    return refusal(400, "The request target has a form that this method does not have.");
  }
  return refusalOfCodings(valuesOf(rawHeaders, "transfer-encoding"), httpVersion);
}

/** A host as in RFC 9110 section 7.2, which has no user, path or list. */
const host = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]+)(?::\d*)?$/i;

function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = valuesOf(rawHeaders, "host");
  if (hosts.length === 0) return httpVersion === "1.0";
  return hosts.length === 1 && host.test(hosts[0] ?? "");
}

/** RFC 9112 sections 6.1 and 6.3: `chunked` comes last and once, and no other coding is implemented. */
function refusalOfCodings(values: readonly string[], httpVersion: string): HttpRefusal | undefined {
  if (values.length === 0) return undefined;
  if (httpVersion === "1.0") return refusal(400, "HTTP/1.0 has no Transfer-Encoding.");
  const codings = values.flatMap((value) => value.split(",").map((coding) => coding.trim().toLowerCase()));
  if (codings.length === 1 && codings[0] === "chunked") return undefined;
  const others = codings.slice(0, -1);
  return codings.at(-1) === "chunked" && others.every((coding) => /^[a-z]/.test(coding) && coding !== "chunked")
    ? refusal(501, "The only transfer coding that is implemented is chunked.")
    : refusal(400, "The last transfer coding must be chunked, and no other may be.");
}

const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_value, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);

export const bodyOf = ({ code, message }: HttpRefusal): string => JSON.stringify({ error: { code, message } });

/** The whole answer, for a connection without a response object; without a body to HEAD (RFC 9110 section 9.3.2). */
export function rawAnswer(refused: HttpRefusal, isHead: boolean): string {
  const body = isHead ? "" : bodyOf(refused);
  const lines = [
    `HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}`,
    `Date: ${new Date().toUTCString()}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "Connection: close",
  ];
  return [...lines, "", body].join("\r\n");
}

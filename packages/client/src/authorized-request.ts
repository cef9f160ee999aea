import { bindParams, bindParamsValue, isPlainJson } from "@svc/tokens";
import type { Grant } from "./hop-context.ts";

/** The JSON object that a privileged call is bound to. */
export type Params = Readonly<Record<string, unknown>>;

/** The request that `call` sends once it is authorized. */
export interface ToolRequest {
  readonly url: string | URL;
  /** Default: POST where there is a body, else GET. */
  readonly method?: string | undefined;
  readonly headers?: RequestInit["headers"];
  /** Default: the JSON of `params`. Where both are given for a privileged target, they must be the same JSON. */
  readonly body?: RequestInit["body"];
}

/** Before anything is decided or spent. @throws {TypeError} for an address, a header or params that cannot be sent */
export function prepareRequest(request: ToolRequest, params: Params | undefined) {
  const url = new URL(request.url);
  const headers = withoutGrantHeaders(request.headers);
  const snapshot = params && snapshotOf(params);
  const own = request.body ?? null;
  const takesBody = own === null && !/^(GET|HEAD)$/i.test(request.method ?? "POST");
  if (takesBody && snapshot && snapshot.text === undefined) throw new TypeError("params have no JSON");
  const body = takesBody ? (snapshot?.text ?? null) : own;
  if (snapshot && !headers.has("content-type") && (takesBody || isJsonOf(own, snapshot.text))) {
    headers.set("content-type", "application/json");
  }
  return {
    /** What the body holds; undefined without one. @throws {TypeError} for a body that is not the JSON of `params` */
    sentJson(): string | undefined {
      if (body === null && !snapshot) return undefined;
      if (isJsonOf(body, snapshot?.text)) return snapshot?.text;
      throw new TypeError("the body of a call whose data class depends on its params must be their JSON");
    },
    paramsJson:
      snapshot &&
      (() => {
        const text = snapshot.bindable();
        if (!isJsonOf(body, text)) throw new TypeError("the body of a privileged call must be the JSON of params");
        if (!isPlainJson(contentOf(headers))) throw new TypeError("a privileged call must be sent as application/json");
        return text;
      }),
    url,
    /** The caller's request with the grant's headers. */
    withGrant: (grant: Grant): RequestInit => ({
      method: request.method ?? (body === null ? "GET" : "POST"),
      headers: withGrantHeaders(headers, grant),
      body,
      // No credential may follow a redirect: the caller gets it as the response.
      redirect: "manual",
      ...(body instanceof ReadableStream && { duplex: "half" }),
    }),
  };
}

const grantHeaders = /^(?:authorization|txn-token|agent-identity|x-svc-.*)$/;

/** Without headers that a grant sets or could set, in any spelling. */
function withoutGrantHeaders(headers: RequestInit["headers"] | undefined): Headers {
  const kept = new Headers(headers);
  for (const name of [...kept.keys()]) if (grantHeaders.test(name.replaceAll("_", "-"))) kept.delete(name);
  return kept;
}

/** A copy of the headers with the grant's. */
export function withGrantHeaders(headers: RequestInit["headers"], grant: Grant): Headers {
  const sent = new Headers(headers);
  for (const [name, value] of Object.entries(grant.headers())) sent.set(name, value);
  return sent;
}

/** A call's parameters at the time of the call: what is bound later must be what is sent. */
export function snapshotOf(params: Params) {
  const text = textOf(params);
  return {
    /** Undefined where they have no JSON. */
    text,
    /**
     * The text. @throws {TypeError} where they cannot be bound (docs/reference/tokens.md#parameter-binding): no object,
     * NaN, numbers that no double holds, lone surrogates, nesting over 64; and where the caller changed them meanwhile
     */
    bindable(): string {
      const binding = bindParamsValue(params);
      if (!binding.ok) throw new TypeError(`params cannot be bound: ${binding.cause}`);
      if (text === undefined || text !== textOf(params)) throw new TypeError("params changed while the hop was taken");
      return text;
    },
  };
}

function textOf(params: Params): string | undefined {
  try {
    return JSON.stringify(params);
  } catch {
    return undefined;
  }
}

/** `Headers` join repeated values, which then are no media type. */
const contentOf = (headers: Headers) => ({
  contentType: [headers.get("content-type") ?? ""],
  contentEncoding: [headers.get("content-encoding") ?? "identity"],
});

/** Whether a body is the JSON of these parameters, in any spelling. */
function isJsonOf(body: unknown, paramsJson: string | undefined): boolean {
  if (paramsJson === undefined) return false;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return false;
  const [one, other] = [bindParams(body), bindParams(paramsJson)];
  return one.ok && other.ok && one.paramsHash === other.paramsHash;
}

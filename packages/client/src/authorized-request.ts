import type { ParamsJson } from "./authorize-hop.ts";
import { isJsonOf, type Params, snapshotOf } from "./bound-params.ts";
import type { Grant } from "./grant.ts";

/** The request that `call` sends once it is authorized. */
export interface ToolRequest {
  readonly url: string | URL;
  /** Default: POST where there is a body, else GET. */
  readonly method?: string | undefined;
  readonly headers?: RequestInit["headers"];
  /** Default: the JSON of `params`. Where both are given for a privileged target, they must be the same JSON. */
  readonly body?: RequestInit["body"];
}

export interface PreparedRequest {
  readonly paramsJson: ParamsJson | undefined;
  /** The caller's request with the grant's headers. */
  withGrant(grant: Grant): { readonly url: URL; readonly init: RequestInit };
}

/**
 * Checks the request before anything is decided or spent.
 *
 * @throws {TypeError} for an address, a header or params that cannot be sent
 */
export function prepareRequest(request: ToolRequest, params: Params | undefined): PreparedRequest {
  const url = new URL(request.url);
  const headers = withoutGrantHeaders(request.headers);
  const snapshot = params && snapshotOf(params);
  const own = request.body ?? null;
  const takesBody = own === null && !/^(GET|HEAD)$/i.test(request.method ?? "POST");
  if (takesBody && snapshot && snapshot.text === undefined) throw new TypeError("params have no JSON");
  const body = takesBody ? (snapshot?.text ?? null) : own;
  if (takesBody && snapshot && !headers.has("content-type")) headers.set("content-type", "application/json");
  return {
    paramsJson:
      snapshot &&
      (() => {
        const text = snapshot.bindable();
        if (!isJsonOf(body, text)) throw new TypeError("the body of a privileged call must be the JSON of params");
        return text;
      }),
    withGrant: (grant) => ({
      url,
      init: {
        method: request.method ?? (body === null ? "GET" : "POST"),
        headers: merged(headers, grant),
        body,
        // No credential may follow a redirect: the caller gets it as the response.
        redirect: "manual",
        ...(body instanceof ReadableStream && { duplex: "half" }),
      },
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

function merged(headers: Headers, grant: Grant): Headers {
  const sent = new Headers(headers);
  for (const [name, value] of Object.entries(grant.headers())) sent.set(name, value);
  return sent;
}

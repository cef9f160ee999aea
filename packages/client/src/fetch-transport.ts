import { readBounded } from "@svc/core/read-bounded";
import { lineSplitter, type Transport, TransportFault } from "@svc/hop";

/** The control plane's address, and the `fetch` to use. */
export interface FetchTransportOptions {
  /** The control plane's base address; a path in it is kept. */
  readonly baseUrl: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** The address of a path below the base address. @throws {TypeError} where that is no http or https address */
export function urlBelow(baseUrl: string): (path: string) => string {
  const base = new URL(baseUrl);
  if (!/^https?:$/.test(base.protocol)) throw new TypeError("baseUrl must be an http or https address");
  const prefix = base.origin + base.pathname.replace(/\/+$/, "");
  return (path) => prefix + path;
}

/**
 * The transport over `fetch`. A redirect is returned, so that no credential follows it.
 * @throws {TypeError} where `baseUrl` is no http or https address
 */
export function fetchTransport({ baseUrl, fetch = globalThis.fetch }: FetchTransportOptions): Transport {
  const urlOf = urlBelow(baseUrl);

  return {
    async send({ method, path, headers, body, deadlineMs, maxResponseBytes, signal, onLines }) {
      const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(deadlineMs)));
      try {
        const response = await fetch(urlOf(path), {
          method,
          headers,
          redirect: "manual",
          signal: signal ? AbortSignal.any([deadline, signal]) : deadline,
          ...(body !== undefined && { body }),
        });
        const onPiece = onLines && response.status === 200 ? lineSplitter(onLines) : undefined;
        const bytes = await readBounded(response.body, maxResponseBytes, onPiece);
        if (bytes === undefined) throw new TransportFault("too_large");
        const { status, headers: received } = response;
        return { status, headers: Object.fromEntries(received), body: new TextDecoder().decode(bytes) };
      } catch (error) {
        throw asTransportFault(error, deadline, signal);
      }
    },
  };
}

function asTransportFault(error: unknown, deadline: AbortSignal, signal: AbortSignal | undefined): TransportFault {
  if (error instanceof TransportFault) return error;
  if (signal?.aborted) return new TransportFault("aborted", { cause: error });
  if (deadline.aborted) return new TransportFault("timeout", { cause: error });
  return new TransportFault(neverConnected(error) ? "refused" : "unreachable", { cause: error });
}

/** True only where there was no connection, and so no request was sent. */
function neverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { cause } = error;
  if (!(cause instanceof Error)) return false;
  const { syscall, code, errors } = cause as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] };
  return (
    syscall === "connect" ||
    syscall === "getaddrinfo" ||
    code === "UND_ERR_CONNECT_TIMEOUT" ||
    (Array.isArray(errors) && errors.every((each) => each.syscall === "connect"))
  );
}

/** A request to the control plane; the inline client sends it over fetch, the enforcement point over undici. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Begins with `/v1/` or another absolute path, query included; relative to the control plane's base address. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds from now to the last byte of the response. */
  readonly deadlineMs: number;
  /** Bytes of the response's body; one more is the fault `too_large`. */
  readonly maxResponseBytes: number;
  readonly signal?: AbortSignal;
  /** Called with the lines of a 200 as they come; the body of the response is empty then. */
  readonly onLines?: (lines: readonly string[]) => void;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names; a repeated header's values are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, decoded as UTF-8. */
  readonly body: string;
}

/** Splits UTF-8 that comes in pieces into its lines. One that no line end follows is never passed on. */
export function lineSplitter(onLines: (lines: readonly string[]) => void): (piece: Uint8Array) => void {
  const decoder = new TextDecoder();
  let rest = "";
  return (piece) => {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) onLines(lines);
  };
}

export interface Transport {
  /** Sends once: no retry, redirect, cache or cookie. @throws {TransportFault} without a whole response in time */
  send(request: TransportRequest): Promise<TransportResponse>;
}

/**
 * Why there is no response. After `refused` (no connection: refused, unresolved, unroutable), and where the fault says
 * `isUnsent`, nothing was sent; after any other fault the request may have taken effect.
 */
export const transportFaultCodes = ["refused", "unreachable", "timeout", "aborted", "too_large"] as const;
export type TransportFaultCode = (typeof transportFaultCodes)[number];

interface TransportFaultOptions extends ErrorOptions {
  readonly isUnsent?: boolean;
}

export class TransportFault extends Error {
  override readonly name = "TransportFault";
  readonly code: TransportFaultCode;
  readonly isUnsent: boolean;

  constructor(code: TransportFaultCode, { isUnsent = code === "refused", ...options }: TransportFaultOptions = {}) {
    super(`control plane: ${code}`, options);
    this.code = code;
    this.isUnsent = isUnsent;
  }
}

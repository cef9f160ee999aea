import { type DenyReason, denyReasons } from "@svc/core";
import { z } from "zod";
import { TransportFault, type TransportRequest, type TransportResponse, transportFaultCodes } from "../transport.ts";
import type { HopCredential, Step, StepOptions, StepPorts } from "./step.ts";

/** An unexpected response as far as it could be read. For people and logs: it holds no token. */
export interface ErrorResponse {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Why a response cannot be used: there was none (the transport's codes), an unexpected `status`, a body of another shape
 * (`malformed`: HTML, truncated JSON), or a well-formed response to another request (`mismatch`).
 */
export const unusableFaults = [...transportFaultCodes, "status", "malformed", "mismatch"] as const;
export type UnusableFault = (typeof unusableFaults)[number];

/** The control plane could not be reached, or its response is not safe to use. */
export interface Unusable {
  readonly kind: "unusable";
  readonly fault: UnusableFault;
  readonly response?: ErrorResponse;
  /** The transport's own error; for logs, never for a caller outside. */
  readonly cause?: unknown;
}

export const unusable = (fault: UnusableFault, response?: TransportResponse): Unusable =>
  response === undefined ? { kind: "unusable", fault } : { kind: "unusable", fault, response: errorResponse(response) };

/** Eight tokens of the largest size that the wire admits, with room for the JSON around them. */
const hopResponseBytes = 256 * 1024;

type StepRequest = Omit<TransportRequest, "deadlineMs" | "signal" | "maxResponseBytes"> & {
  readonly maxResponseBytes?: number;
};

/** Sends one request; a transport fault becomes a value, any other error is a bug and is thrown. */
export async function send(
  ports: StepPorts,
  request: StepRequest,
  { deadlineMs, signal, trace }: StepOptions,
): Promise<{ kind: "received"; response: TransportResponse } | Unusable> {
  try {
    const response = await ports.transport.send({
      maxResponseBytes: hopResponseBytes,
      ...request,
      headers: { accept: "application/json", ...trace, ...request.headers },
      deadlineMs,
      ...(signal && { signal }),
    });
    return { kind: "received", response };
  } catch (error) {
    if (error instanceof TransportFault) return { ...unusable(error.code), cause: error.cause };
    throw error;
  }
}

type Posted = Pick<StepRequest, "path" | "headers" | "body">;

/** A step that posts what `write` returns; `read` reads a 200, and `refusal` says what any other response means. */
export const posting =
  <Request, Result>(
    write: (ports: StepPorts, credential: HopCredential, request: Request) => Promise<Posted>,
    read: (response: TransportResponse, credential: HopCredential, request: Request) => Result,
    refusal: (response: ErrorResponse) => Result,
  ): Step<Request, Result | Unusable> =>
  async (ports, credential, request, options) => {
    const sent = await send(ports, { method: "POST", ...(await write(ports, credential, request)) }, options);
    if (sent.kind === "unusable") return sent;
    const { response } = sent;
    return response.status === 200 ? read(response, credential, request) : refusal(errorResponse(response));
  };

export const jsonUnder = ({ token }: HopCredential) => ({
  "content-type": "application/json",
  authorization: `Bearer ${token}`,
});

/** The body as `schema` reads it, or undefined for anything else. */
export function parseBody<T extends z.ZodType>(schema: T, { body }: TransportResponse): z.output<T> | undefined {
  try {
    return schema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** Both error shapes, read leniently: of another server's body only the status is kept. */
const errorBody = z.union([
  z
    .object({
      error: z.object({ code: z.string(), message: z.string().optional() }),
      details: z.record(z.string(), z.unknown()).optional(),
    })
    .transform(({ error, details }) => ({ ...error, details })),
  z
    .object({ error: z.string(), error_description: z.string().optional(), action_id: z.string().optional() })
    .transform(({ error: code, error_description: message, action_id }) => ({
      ...{ code, message },
      details: action_id === undefined ? undefined : { action_id },
    })),
]);

export function errorResponse(response: TransportResponse): ErrorResponse {
  const { status } = response;
  const { code, message, details } = parseBody(errorBody, response) ?? {};
  if (code === undefined) return { status };
  return { status, code, ...(message !== undefined && { message }), ...(details && { details }) };
}

const reasonMember = z.object({ deny_reason: z.enum(denyReasons) });

const recordMember = z.object({ action_id: z.string().min(1) });

/** The record of a deny at the exchange or the mint; null where the response names none. */
export const recordedIn = ({ details }: ErrorResponse): string | null =>
  recordMember.safeParse(details).data?.action_id ?? null;

/** `details.deny_reason` of `mint_refused` and `renewal_refused`. */
export const denyReasonOf = ({ details }: ErrorResponse): DenyReason | null =>
  reasonMember.safeParse(details).data?.deny_reason ?? null;

import { type DenyReason, denyReasons, type ErrorCode, errorCodes, type OAuthErrorCode } from "@svc/core";
import { z } from "zod";
import { TransportFault, type TransportRequest, type TransportResponse, transportFaultCodes } from "../transport.ts";
import type { HopCredential, Step, StepOptions, StepPorts } from "./step.ts";

/** An unexpected response as far as it could be read. For people and logs: it holds no token. */
export interface ErrorResponse {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** `Retry-After` as received: seconds, or a date (RFC 9110 section 10.2.3). */
  readonly retryAfter?: string;
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
  /** No byte of the request was sent, so nothing can have been spent. */
  readonly isUnsent?: boolean;
  /** The transport's own error; for logs, never for a caller outside. */
  readonly cause?: unknown;
}

export const unusable = (fault: UnusableFault, response?: Answer): Unusable =>
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
  if (signal?.aborted) return { ...unusable("aborted"), isUnsent: true };
  if (deadlineMs <= 0) return { ...unusable("timeout"), isUnsent: true };
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
    return faultOf(error);
  }
}

/** @throws any error but the transport's: it is a bug */
export function faultOf(error: unknown): Unusable {
  if (!(error instanceof TransportFault)) throw error;
  const { code, isUnsent, cause } = error;
  return { ...unusable(code), ...(isUnsent && { isUnsent }), ...(cause !== undefined && { cause }) };
}

type Posted = Pick<StepRequest, "path" | "headers" | "body">;

/** A step that posts what `write` returns. */
export const posting =
  <Request, Result>(
    write: (ports: StepPorts, credential: HopCredential, request: Request) => Promise<Posted>,
    readAnswer: (answer: Answer, credential: HopCredential, request: Request) => Result,
  ): Step<Request, Result | Unusable> =>
  async (ports, credential, request, options) => {
    const sent = await send(ports, { method: "POST", ...(await write(ports, credential, request)) }, options);
    return sent.kind === "unusable" ? sent : readAnswer(sent.response, credential, request);
  };

/** `read` reads a 200, and `refusal` says what any other answer means. */
export const reading =
  <Request, Result>(
    read: (answer: Answer, credential: HopCredential, request: Request) => Result,
    refusal: (response: ErrorResponse) => Result,
  ) =>
  (answer: Answer, credential: HopCredential, request: Request): Result =>
    answer.status === 200 ? read(answer, credential, request) : refusal(errorResponse(answer));

export const jsonUnder = ({ token }: HopCredential) => ({
  "content-type": "application/json",
  authorization: `Bearer ${token}`,
});

/** A response, or one that came within another's body, already parsed. */
export type Answer = Omit<TransportResponse, "body"> & { readonly body: unknown };

/** The body as `schema` reads it, or undefined for anything else. */
export function parseBody<T extends z.ZodType>(schema: T, { body }: Answer): z.output<T> | undefined {
  try {
    return schema.safeParse(typeof body === "string" ? JSON.parse(body) : body).data;
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

export function errorResponse(response: Answer): ErrorResponse {
  const { status, headers } = response;
  const { code, message, details } = parseBody(errorBody, response) ?? {};
  const retryAfter = /^[\x20-\x7e]{1,64}$/.exec(headers["retry-after"] ?? "")?.[0];
  return {
    status,
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(details && { details }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** Milliseconds of a `Retry-After` in seconds, a minute at most; 0 without one. */
export const retryAfterMsOf = ({ retryAfter = "" }: Partial<ErrorResponse> = {}): number =>
  /^\d{1,5}$/.test(retryAfter) ? Math.min(Number(retryAfter), 60) * 1000 : 0;

const issuesMember = z.object({ issues: z.array(z.object({ path: z.string() })) });

/** Whether a 400 is about this member of the request (docs/reference/conventions.md#errors). */
export const namesMember = ({ status, details }: ErrorResponse, member: string): boolean =>
  status === 400 && issuesMember.safeParse(details).data?.issues.some(({ path }) => path === member) === true;

/** Proof of possession is missing or not accepted. The exchange's error names the parameter in its description alone. */
export const isProofRefused = (response: ErrorResponse): boolean =>
  namesMember(response, "actor_token") ||
  (response.status === 400 && response.code === "invalid_request" && /^actor_token\b/.test(response.message ?? ""));

const reasonMember = z.object({ deny_reason: z.enum(denyReasons) });

const recordMember = z.object({ action_id: z.string().min(1) });

/** The record of a deny at the exchange or the mint; null where the response names none. */
export const recordedIn = ({ details }: ErrorResponse): string | null =>
  recordMember.safeParse(details).data?.action_id ?? null;

/** `details.deny_reason` of `mint_refused` and `renewal_refused`. */
export const denyReasonOf = ({ details }: ErrorResponse): DenyReason | null =>
  reasonMember.safeParse(details).data?.deny_reason ?? null;

/** Faults of a store: the control plane changed nothing. */
const unchangedCodes: readonly unknown[] = [
  "guard_unavailable",
  "database_unavailable",
  "audit_unavailable",
] satisfies ErrorCode[];

const refusalCodes: readonly unknown[] = [...errorCodes, "slow_down" satisfies OAuthErrorCode];

/** A request that was understood and refused on its merits, as opposed to a route or size that does not fit. */
export const isRefusal = ({ status, code }: ErrorResponse): boolean =>
  [400, 403, 404, 409, 422].includes(status) && code !== "route_not_found" && refusalCodes.includes(code);

/** Whether the presented token is still unspent: nothing was sent, or the control plane itself refused. */
export function isUnspentAfter({ fault, isUnsent, response }: Unusable): boolean {
  if (isUnsent || fault === "refused") return true;
  if (fault !== "status" || !response || !refusalCodes.includes(response.code)) return false;
  return (response.status >= 400 && response.status < 500) || unchangedCodes.includes(response.code);
}

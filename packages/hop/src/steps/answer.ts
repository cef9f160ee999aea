import { type DenyReason, denyReasons } from "@svc/core";
import { z } from "zod";
import { TransportFault, type TransportRequest, type TransportResponse, transportFaultCodes } from "../transport.ts";
import type { StepOptions, StepPorts } from "./step.ts";

/** An answer that is not the one hoped for, as far as it could be read. For people and logs: it holds no token. */
export interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Why an answer cannot be acted on: no answer (the transport's codes), an unexpected `status`, a body of another shape
 * (`malformed`: HTML, truncated JSON), or a well-formed answer to something that was not asked (`mismatch`).
 */
export const unusableFaults = [...transportFaultCodes, "status", "malformed", "mismatch"] as const;
export type UnusableFault = (typeof unusableFaults)[number];

/** The control plane could not be reached, or nothing safe can be made of what it said. */
export interface Unusable {
  readonly kind: "unusable";
  readonly fault: UnusableFault;
  readonly answer?: Answer;
  /** What the transport met, for whoever runs the caller; never for anybody outside. */
  readonly cause?: unknown;
}

export const unusable = (fault: UnusableFault, response?: TransportResponse): Unusable =>
  response === undefined ? { kind: "unusable", fault } : { kind: "unusable", fault, answer: answerOf(response) };

/** Eight tokens of the largest size the wire admits, with room for the JSON around them. */
const hopResponseBytes = 256 * 1024;

type Question = Pick<TransportRequest, "method" | "path" | "headers"> & {
  readonly body?: string;
  readonly maxResponseBytes?: number;
};

/** One request over the transport; a transport fault becomes a value, any other error is a bug and passes. */
export async function ask(
  ports: StepPorts,
  question: Question,
  options: StepOptions,
): Promise<{ kind: "answered"; response: TransportResponse } | Unusable> {
  const { deadlineMs, signal, trace } = options;
  try {
    const response = await ports.transport.send({
      maxResponseBytes: hopResponseBytes,
      ...question,
      headers: { accept: "application/json", ...trace, ...question.headers },
      deadlineMs,
      ...(signal && { signal }),
    });
    return { kind: "answered", response };
  } catch (error) {
    if (error instanceof TransportFault) return { ...unusable(error.code), cause: error.cause };
    throw error;
  }
}

/** The body as `schema` reads it, or undefined for anything else. */
export function bodyAs<T extends z.ZodType>(schema: T, response: TransportResponse): z.output<T> | undefined {
  return schema.safeParse(parsedJson(response.body)).data;
}

const envelope = z.object({
  error: z.object({ code: z.string(), message: z.string().optional() }),
  details: z.record(z.string(), z.unknown()).optional(),
});
const oauthShape = z.object({ error: z.string(), error_description: z.string().optional() });

/** Reads either error shape, leniently: what is unreadable is left out. */
export function answerOf(response: TransportResponse): Answer {
  const { status } = response;
  const usual = bodyAs(envelope, response);
  if (usual) return answer(status, usual.error.code, usual.error.message, usual.details);
  const oauth = bodyAs(oauthShape, response);
  return oauth ? answer(status, oauth.error, oauth.error_description) : { status };
}

const answer = (status: number, code: string, message?: string, details?: Record<string, unknown>): Answer => ({
  status,
  code,
  ...(message !== undefined && { message }),
  ...(details && { details }),
});

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const reasonMember = z.object({ deny_reason: z.enum(denyReasons) });

/** `details.deny_reason` of `mint_refused` and `renewal_refused`. */
export const denyReasonOf = ({ details }: Answer): DenyReason | null =>
  reasonMember.safeParse(details).data?.deny_reason ?? null;

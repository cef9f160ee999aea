import { decodeUnverifiedSubject, rememberDecoded } from "@svc/tokens";
import type { Transport } from "../transport.ts";

export const stages = ["decide", "exchange", "mint", "renew"] as const;
export type Stage = (typeof stages)[number];

/** Proof of possession of the acting agent's key (RFC 8693 `actor_token`). */
export interface ActorProver {
  /** A fresh, single-use `agent-proof+jwt` bound to `subjectToken`; called once per request. */
  prove(subjectToken: string): string | Promise<string>;
}

export interface StepPorts {
  readonly transport: Transport;
  /** Present where an agent key is held: then exchange, mint and renew each carry an actor token. */
  readonly prover?: ActorProver;
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs: () => number;
}

/** W3C trace context, passed on unread. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export interface StepOptions {
  /** Milliseconds this step may take, a repeated connect included. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
  readonly trace?: TraceHeaders;
  /** Called once per step, however it ended. */
  readonly onStage?: (stage: Stage, durationMs: number) => void;
}

/** The token an agent acts with, and its session. */
export interface HopCredential {
  readonly sessionId: string;
  readonly token: string;
}

/** One request to the control plane under a credential, and what its response means. */
export type Step<Request, Result> = (
  ports: StepPorts,
  credential: HopCredential,
  request: Request,
  options: StepOptions,
) => Promise<Result>;

/** The same step, which reports its duration, also where it throws. */
export const timed =
  <Request, Result>(stage: Stage, step: Step<Request, Result>): Step<Request, Result> =>
  async (ports, credential, request, options) => {
    const startedMs = ports.monotonicMs();
    try {
      return await step(ports, credential, request, options);
    } finally {
      options.onStage?.(stage, ports.monotonicMs() - startedMs);
    }
  };

/** The unverified claims of a token; a sibling is decoded when it is issued, and looked up when it is spent. */
export const unverifiedClaims = rememberDecoded({ capacity: 1024, decode: decodeUnverifiedSubject });

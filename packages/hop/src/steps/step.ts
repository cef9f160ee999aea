import type { Transport } from "../transport.ts";

export const stages = ["decide", "exchange", "mint", "renew"] as const;
export type Stage = (typeof stages)[number];

/** Proof of possession of the acting agent's key (RFC 8693 `actor_token`). */
export interface ActorProver {
  /** A fresh `agent-proof+jwt` bound to `subjectToken`; single use, so asked for once per request. */
  prove(subjectToken: string): string | Promise<string>;
}

/** What every step works with. */
export interface StepPorts {
  readonly transport: Transport;
  /** Present where an agent key is held: then exchange, mint and renew each carry an actor token. */
  readonly prover?: ActorProver;
  /** Milliseconds on a clock that never steps; measures stage times. */
  readonly monotonicMs: () => number;
}

/** W3C trace context to pass on; steps never read it. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** What one call of a step is given. */
export interface StepOptions {
  /** Milliseconds this step may take, a repeated connect included. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
  readonly trace?: TraceHeaders;
  /** Told once per step, however it ended. */
  readonly onStage?: (stage: Stage, durationMs: number) => void;
}

/** The token an agent acts with, and its session. */
export interface HopCredential {
  readonly sessionId: string;
  readonly token: string;
}

import type { HopCredential } from "@svc/hop";
import type { AllowedTools } from "../decide/allowed-tools.ts";
import type { Events } from "../events.ts";
import type { GuardPorts } from "../guard.ts";
import type { Limits } from "../limits.ts";
import type { LiveUpstreams } from "../upstreams/live-upstreams.ts";
import type { PepMode } from "../upstreams/upstream.ts";
import type { Gate } from "./concurrency-limiter.ts";
import type { SessionOrder } from "./session-order.ts";

export const undecidedModes = ["block", "forward"] as const;
export type UndecidedMode = (typeof undecidedModes)[number];

/** What the enforcement point handles calls with. */
export interface PepPorts {
  readonly guard: GuardPorts;
  readonly upstreams: LiveUpstreams;
  /** The session of an agent that presents none. */
  readonly ambient: () => HopCredential | undefined;
  readonly events: Events;
  readonly limits: Limits;
  /** What observe mode does with a call that got no decision. */
  readonly undecided: UndecidedMode;
  /** Places for calls, and for what outlasts one. */
  readonly calls: Gate;
  readonly streams: Gate;
  readonly order: SessionOrder;
  /** What the caller may call at present; undefined where that cannot be learnt. */
  readonly allowedTools: (credential: HopCredential) => Promise<AllowedTools | undefined>;
  /** Of a request that names no upstream. */
  readonly defaultMode: PepMode;
  readonly monotonicMs: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

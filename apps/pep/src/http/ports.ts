import type { HopCredential } from "@svc/hop";
import type { AdmitPorts } from "../decide/admit.ts";
import type { Events } from "../events.ts";
import type { Limits } from "../limits.ts";
import type { PepMode } from "../modes.ts";
import type { AllowedTools } from "../protocols/protocol.ts";
import type { LiveUpstreams } from "../upstreams/live-upstreams.ts";
import type { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import type { SessionOrder } from "./session-order.ts";

/** What calls are handled with. */
export interface PepPorts extends AdmitPorts {
  readonly upstreams: LiveUpstreams;
  /** The session of an agent that presents none. */
  readonly ambient: () => HopCredential | undefined;
  readonly events: Events;
  readonly limits: Limits;
  readonly calls: ConcurrencyLimiter;
  /** For what outlasts a call: event streams, WebSockets and tunnels. */
  readonly streams: ConcurrencyLimiter;
  readonly order: SessionOrder;
  /** What the caller may call at present; undefined: the control plane gave no usable answer. */
  readonly allowedTools: (credential: HopCredential) => Promise<AllowedTools | undefined>;
  /** Of a request that names no upstream. */
  readonly defaultMode: PepMode;
  readonly monotonicMs: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

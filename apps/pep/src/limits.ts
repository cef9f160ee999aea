import { availableParallelism } from "node:os";

/** Bounds on time, size and number (docs/reference/enforcement-point.md#time-limits). */
export interface Limits {
  /** For decide, exchange and mint each. */
  readonly stepMs: number;
  /** For the three together. */
  readonly hopMs: number;
  readonly upstreamHeadersMs: number;
  /** For an event stream to begin, while later calls of its session wait for it. */
  readonly streamHeadMs: number;
  /** For an agent to send its headers, from the connection or the last answer. */
  readonly agentHeadersMs: number;
  /** Without a byte of a body, in either direction; event streams have none. */
  readonly idleBodyMs: number;
  /** A body that pauses longer before its exchange counts as a stream. */
  readonly bodyPauseMs: number;
  /** Between two decisions on a stream, an upgraded connection or a tunnel. */
  readonly redecideMs: number;
  readonly bindCapBytes: number;
  /** Calls beyond are shed. */
  readonly maxCalls: number;
  /** Streams, upgraded connections and tunnels: they no longer count as calls. */
  readonly maxStreams: number;
}

const callsPerCore = 64;
const streamsPerCore = 1024;

export const defaultLimits: Limits = {
  stepMs: 1_000,
  hopMs: 2_500,
  upstreamHeadersMs: 30_000,
  streamHeadMs: 1_000,
  agentHeadersMs: 30_000,
  idleBodyMs: 60_000,
  bodyPauseMs: 1_000,
  redecideMs: 60_000,
  bindCapBytes: 262_144,
  maxCalls: callsPerCore * availableParallelism(),
  maxStreams: streamsPerCore * availableParallelism(),
};

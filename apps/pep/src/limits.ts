import { availableParallelism } from "node:os";

const callsPerCore = 64;
const streamsPerCore = 1024;

/** Bounds on time, size and number (docs/reference/enforcement-point.md#time-limits). */
export const defaultLimits = {
  /** For decide, exchange and mint each. */
  stepMs: 1_000,
  /** For the three together. */
  hopMs: 2_500,
  upstreamHeadersMs: 30_000,
  /** For an event stream to begin, while later calls of its session wait for it. */
  streamHeadMs: 1_000,
  /** For an agent to send its headers, from the connection or the last answer. */
  agentHeadersMs: 30_000,
  /** Without a byte of a body, in either direction; event streams have none. */
  idleBodyMs: 60_000,
  /** For a body to be whole before its exchange; one that is not counts as a stream. */
  bodyWaitMs: 1_000,
  /** Between two decisions on a stream, an upgraded connection or a tunnel. */
  redecideMs: 60_000,
  /** For a person to consent on the page that an MCP client opened, and between two looks. */
  consentWaitMs: 20_000,
  consentPollMs: 1_000,
  bindCapBytes: 262_144,
  /** Calls beyond are shed. */
  maxCalls: callsPerCore * availableParallelism(),
  /** Streams, upgraded connections and tunnels: they no longer count as calls. */
  maxStreams: streamsPerCore * availableParallelism(),
};

export type Limits = Readonly<typeof defaultLimits>;

import type { CompiledRules } from "@svc/classify";
import type { TargetKind } from "@svc/core";
import type { TraceHeaders } from "@svc/telemetry";
import type { z } from "zod";
import type { Limits } from "../limits.ts";
import type { RawHeaders } from "../message/headers.ts";
import type { RequestBody } from "../message/request-body.ts";
import type { Answer } from "../message/write-answer.ts";
import type { Block, UnresolvedCall } from "./blocks.ts";

/** A call, as the decision point knows it. */
export interface CallTarget {
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, space-separated. */
  readonly dataClass: string;
}

/** A call whose data class its arguments decide (docs/reference/enforcement-point.md#data-class-by-arguments). */
export interface ClassifiedTarget extends Omit<CallTarget, "dataClass"> {
  readonly rules: CompiledRules;
}

/** Every call that the rules can make of it. */
export const possibleCalls = ({ rules, target, targetKind }: ClassifiedTarget): readonly CallTarget[] =>
  rules.classes.map((dataClass) => ({ target, targetKind, dataClass }));

/** Servers could read the request differently. */
export interface Ambiguous {
  /** The routes that it could be for. */
  readonly ambiguous: string;
}

/** The id of a message that waits for an answer; the answer repeats it. */
export type MessageId = string | number;

/** MCP's own words: a legacy revision opens a session by `initialize`, a modern request names the revision it is written for. */
export type Era = "legacy" | "modern";

export interface IdentifiedCall {
  /** Undefined: the configuration names no target for the call. */
  readonly call?: CallTarget | undefined;
  /** Why there is no call, where the protocol can say more. */
  readonly unresolved?: UnresolvedCall | undefined;
  readonly id?: MessageId | undefined;
  /** The message's own method, not HTTP's. */
  readonly method?: string | undefined;
  /** Of MCP: which revisions the message is written for. */
  readonly era?: Era | undefined;
  /** Messages for a stream that listens for changes of lists, when what the caller may call changes. */
  readonly listChanges?: readonly string[] | undefined;
  /** Trace context that the message itself has. */
  readonly trace?: TraceHeaders | undefined;
}

/** Reads a call from the body that will be sent. `gone`: the agent disconnected or stopped sending. */
export type ReadCall = (
  body: RequestBody,
  headers: RawHeaders,
  limits: Pick<Limits, "bindCapBytes" | "idleBodyMs">,
) => Promise<IdentifiedCall | "gone">;

/** A classified target, and how its arguments are read. */
export interface UnreadCall extends ClassifiedTarget {
  readonly readCall: ReadCall;
}

/** Target to the data classes it may be called for. */
export type AllowedTools = ReadonlyMap<string, readonly string[]>;

/** Rewrites a response body while it streams. */
export interface BodyFilter {
  /** Returns the bytes that can be passed on now. */
  push(chunk: Buffer): Buffer;
  end(): Buffer;
}

/** The filter of a response with this status and these headers, or an answer in its place; undefined: it passes unchanged. */
export type ResponseFilter = (status: number, headers: RawHeaders) => BodyFilter | Answer | undefined;

/** All that differs between the protocols of upstreams, bound to the settings of one upstream. */
export interface Protocol {
  /** The part of the upstream's path that calls are relative to: empty for the root, else with a leading slash. */
  readonly basePath: string;
  /** True: WebSocket upgrades are decided and forwarded. */
  readonly takesUpgrades: boolean;
  /** The header that names a session whose calls wait for its opening event stream; undefined: calls do not wait. */
  readonly ordersSessions: string | undefined;
  /** Every target that the settings name, for `--check`. */
  targets(): readonly CallTarget[];
  /**
   * Maps HTTP method, path (relative to `basePath`) and query (without its question mark) to a call. `message`:
   * `readCall` reads it from the body.
   */
  resolve(method: string, path: string, query?: string): CallTarget | UnreadCall | "message" | "unmapped" | Ambiguous;
  /** Why an unmapped request names no call. */
  readonly unmapped: UnresolvedCall;
  readonly readCall: ReadCall;
  blockAnswer(block: Block, call: IdentifiedCall): Answer;
  /** The messages that its event stream gets when what the caller may call changes. */
  listChanges(call: IdentifiedCall, httpMethod: string | undefined): readonly string[];
  /** The filter of the answer to a call while enforcing; undefined: nothing is filtered, and no body is rewritten. */
  filterFor(
    call: IdentifiedCall,
    httpMethod: string | undefined,
    allowedTools: () => Promise<AllowedTools | undefined>,
  ): ResponseFilter | Promise<ResponseFilter> | undefined;
}

/** A protocol's settings in the upstreams file, and the protocol that they make. */
export interface ProtocolKind<Entry extends z.ZodType> {
  readonly entry: Entry;
  create(entry: z.output<Entry>): Protocol;
}

import type { CompiledRules } from "@svc/classify";
import type { DefinitionPin, Definitions, TargetKind } from "@svc/core";
import type { TraceHeaders } from "@svc/telemetry";
import type { z } from "zod";
import type { Limits } from "../limits.ts";
import type { RawHeaders } from "../message/headers.ts";
import type { RequestBody } from "../message/request-body.ts";
import type { Answer } from "../message/write-answer.ts";
import type { PepMode } from "../modes.ts";
import type { Block, UnresolvedCall } from "./blocks.ts";
import type { ProtectedResource } from "./protected-resource.ts";

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

export type ConsentAnswer = "accepted" | "declined";

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
  /** The client opens addresses for its person. */
  readonly opensAddresses?: boolean | undefined;
  /** What the person answered to the question whether to open the page of consent. */
  readonly consent?: ConsentAnswer | undefined;
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

/** What a caller may call at present, and the definitions of MCP tools that its session pinned. */
export interface SessionTargets {
  readonly allowed: AllowedTools;
  readonly pins: Definitions;
}

export const changeChoices = ["deny", "report"] as const;
/** What a changed definition means for a tool: it is hidden and its calls are refused, or it is listed for operators. */
export type ChangeChoice = (typeof changeChoices)[number];

/** Compares the tools of a list with what the caller's session pinned. */
export interface DefinitionWatch {
  readonly onChange: ChangeChoice;
  /** @returns whether the tool differs from its pin */
  isChanged(target: string, read: () => DefinitionPin | undefined): boolean;
}

/** What the answer to a call is filtered by. */
export interface Listing {
  /** In observe mode no list is filtered. */
  readonly mode: PepMode;
  /** Undefined: the control plane gave no usable answer. */
  allowedTools(): Promise<AllowedTools | undefined>;
  /** Undefined where the session pins no tool of the upstream, or that is not known. */
  watch(): Promise<DefinitionWatch | undefined>;
}

/** Rewrites a response body while it streams. */
export interface BodyFilter {
  /** It passes every byte on. */
  readonly keepsBody?: true;
  /** Returns the bytes that can be passed on now. */
  push(chunk: Buffer): Buffer;
  end(): Buffer;
}

/** The filter of a response with this status and these headers, or an answer in its place; undefined: it passes unchanged. */
export type ResponseFilter = (status: number, headers: RawHeaders) => BodyFilter | Answer | undefined;

/** What an answer to a block depends on beside block and call. */
export interface AnswerContext {
  /** What the caller may call, as far as it is known without a request. */
  readonly allowed?: AllowedTools | undefined;
  /** The upstream, where OAuth clients log in to it. */
  readonly resource?: ProtectedResource | undefined;
  /** The client said in an earlier request that it opens addresses for its person. */
  readonly opensAddresses?: boolean;
  /** The request presented a bearer. */
  readonly hasBearer?: boolean;
}

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
  blockAnswer(block: Block, call: IdentifiedCall, context: AnswerContext): Answer;
  /** The messages that its event stream gets when what the caller may call changes. */
  listChanges(call: IdentifiedCall, httpMethod: string | undefined): readonly string[];
  /** What the settings say of changed tools. Default: `deny` while enforcing, `report` while observing. */
  readonly onChange: ChangeChoice | undefined;
  /** The filter of the answer to a call; undefined: it is not read, and no body is rewritten. */
  filterFor(
    call: IdentifiedCall,
    httpMethod: string | undefined,
    listing: Listing,
  ): ResponseFilter | Promise<ResponseFilter | undefined> | undefined;
}

/** A protocol's settings in the upstreams file, and the protocol that they make. */
export interface ProtocolKind<Entry extends z.ZodType> {
  readonly entry: Entry;
  create(entry: z.output<Entry>): Protocol;
}

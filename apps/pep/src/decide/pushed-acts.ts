import { type BlockKind, fromWire, pushedEvent } from "@svc/core";
import type { HopCredential } from "@svc/hop";
import { actChain, decodeUnverifiedSubject, type HopClaims, type SentEvent } from "@svc/tokens";

/** What an act concerns: calls of a session, through an agent or of a target, or every call. */
export type Concern =
  | { readonly kind: "session" | "target"; readonly ref: string }
  | { readonly kind: "agent"; readonly ref: string; readonly isFinal: boolean }
  | { readonly kind: "every" };

const every: Concern = { kind: "every" };

/** What an event of the push concerns (docs/reference/identity.md#push); undefined: no call has to be decided again. */
export function concernOf({ event, data }: SentEvent): Concern | undefined {
  if (event === "heartbeat") return undefined;
  const read = pushedEvent.safeParse(parsed(data));
  // After a reset events are missing; what a later release sends may concern any call.
  if (event === "reset" || !read.success) return every;
  const { kind, sessionId, agent, block } = fromWire(pushedEvent, read.data);
  switch (kind) {
    case "session_revoked":
      return sessionId === null ? every : { kind: "session", ref: sessionId };
    case "agent_revoked":
    case "agent_quarantined":
    case "agent_enrolled":
      return agent === null ? every : { kind: "agent", ref: agent, isFinal: kind === "agent_revoked" };
    case "block_set":
      return block === null ? every : concernOfBlock(block);
    case "key_removed":
    case "issuer_epoch_raised":
      return every;
    case "block_lifted":
    case "quarantine_lifted":
    case "key_rotated":
      return undefined;
    default:
      return kind satisfies never;
  }
}

function concernOfBlock({ kind, ref }: { readonly kind: BlockKind; readonly ref: string }): Concern {
  switch (kind) {
    case "agent":
      return { kind, ref, isFinal: false };
    case "tool":
      return { kind: "target", ref };
    case "scope":
      // Only a root grant names its session's scope.
      return every;
    default:
      return kind satisfies never;
  }
}

/** A call, by its session and its narrowed token. */
export interface Concerned {
  readonly sessionId: string;
  readonly claims: HopClaims | undefined;
}

export function concerns(act: Concern, { sessionId, claims }: Concerned): boolean {
  switch (act.kind) {
    case "every":
      return true;
    case "session":
      return act.ref === sessionId;
    case "target":
      // A block of an MCP server covers its tools too.
      return claims === undefined || claims.aud.startsWith(act.ref);
    case "agent": {
      const chain = claims && actChain(claims);
      // The agent that lends a person a tool is not in the chain (docs/reference/decision.md#hop-1).
      return chain === undefined || chain.length === 2 || chain.includes(act.ref, 1);
    }
    default:
      return act satisfies never;
  }
}

/** Whether the act ended, for good, the session or an agent of a token: nothing is renewed for it any more. */
export function isOver(act: Concern, { sessionId, token }: HopCredential): boolean {
  if (act.kind === "session") return act.ref === sessionId;
  if (act.kind !== "agent" || !act.isFinal) return false;
  const claims = decodeUnverifiedSubject(token);
  return claims !== undefined && actChain(claims).includes(act.ref, 1);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

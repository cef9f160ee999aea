import { blockKinds, mcpServerRef, type pushedEvent } from "@svc/core";
import { actChain, type NarrowedClaims, type SentEvent } from "@svc/tokens";
import { z } from "zod/mini";

type Member = "ts" | "kind" | "agent" | "session_id" | "block" | "kid" | "not_before";

/** Of the route's schema what is read here; unknown kinds are ignored. */
const eventShape: z.ZodMiniType<{ [M in Member]: M extends "kind" ? string : z.output<typeof pushedEvent>[M] }> =
  z.object({
    ts: z.iso.datetime(),
    kind: z.string(),
    agent: z.nullable(z.string()),
    session_id: z.nullable(z.string()),
    block: z.nullable(z.object({ kind: z.enum(blockKinds), ref: z.string() })),
    kid: z.nullable(z.string()),
    not_before: z.nullable(z.iso.datetime()),
  });

type Denied = z.output<typeof eventShape>;

interface Denial {
  /** Of the event. */
  readonly ts: number;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

interface PushedHandlers {
  /** For good. */
  readonly onRevoked: (agent: string) => void;
  /** An agent's key may be another. */
  readonly onIdentity: (agent: string) => void;
  /** Events may be missing. */
  readonly onReset: () => void;
}

/**
 * What the push denies. A token lives for a minute, and the control plane issues none after the act, so that sessions, blocks and
 * quarantines are kept for `keptMs`; removed keys are kept for good. Nothing pushed makes a call admitted that was refused.
 */
export function pushedDenials(monotonicMs: () => number, keptMs: number, handlers: PushedHandlers) {
  const denials = new Map<string, Denial>();
  const kids = new Set<string>();
  let notBefore = 0;
  let sweptMs = monotonicMs();

  const deny = (name: string, ts: number): void => {
    denials.set(name, { ts: Math.max(ts, denials.get(name)?.ts ?? ts), untilMs: monotonicMs() + keptMs });
    if (monotonicMs() - sweptMs < keptMs) return;
    sweptMs = monotonicMs();
    for (const [each, { untilMs }] of denials) if (untilMs < sweptMs) denials.delete(each);
  };
  const isDenied = (name: string): boolean => (denials.get(name)?.untilMs ?? Number.NEGATIVE_INFINITY) >= monotonicMs();

  /** One that comes late, or again, lifts no later denial. */
  const lift = (name: string, ts: number): void => {
    if ((denials.get(name)?.ts ?? ts) < ts) denials.delete(name);
  };

  const take = ({ ts: at, kind, agent, session_id: session, block, kid, not_before }: Denied): void => {
    const ts = Date.parse(at);
    if (kind === "session_revoked" && session !== null) deny(`session ${session}`, ts);
    if (kind === "agent_revoked" && agent !== null) handlers.onRevoked(agent);
    if (kind === "agent_quarantined" && agent !== null) deny(`quarantine ${agent}`, ts);
    if (kind === "quarantine_lifted" && agent !== null) lift(`quarantine ${agent}`, ts);
    if (kind === "block_set" && block !== null) deny(`${block.kind} ${block.ref}`, ts);
    if (kind === "block_lifted" && block !== null) lift(`${block.kind} ${block.ref}`, ts);
    if (kind === "key_removed" && kid !== null) kids.add(kid);
    if (kind === "issuer_epoch_raised" && not_before !== null) {
      notBefore = Math.max(notBefore, Math.floor(Date.parse(not_before) / 1000));
    }
    if (agent !== null && kind.startsWith("agent_")) handlers.onIdentity(agent);
  };

  return {
    /** What it cannot read may have been any act, as what a reset leaves out. */
    take({ event, data }: SentEvent): void {
      if (event === "heartbeat") return;
      const read = event === "reset" ? undefined : eventShape.safeParse(parsed(data));
      if (read?.success) take(read.data);
      else handlers.onReset();
    },
    /** Whether the session, the target or an agent of the chain is denied. */
    has(claims: NarrowedClaims): boolean {
      const { sessionId, aud } = claims;
      // A block of an MCP server covers its tools.
      const refs = [`session ${sessionId}`, `tool ${aud}`, `tool ${mcpServerRef(aud) ?? aud}`];
      if (refs.some(isDenied)) return true;
      const agents = actChain(claims).slice(1);
      return agents.some((agent) => isDenied(`agent ${agent}`) || isDenied(`quarantine ${agent}`));
    },
    /** Whether the issuer's epoch was raised after the token was issued. */
    isSuperseded: ({ iat }: NarrowedClaims): boolean => iat < notBefore,
    isRemovedKey: (kid: string): boolean => kids.has(kid),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

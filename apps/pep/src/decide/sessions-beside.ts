import { setTimeout as delay } from "node:timers/promises";
import { fromWire, sessionBeside, sessionBesideRequest, sessionsBeside, toWire } from "@svc/core";
import { type HopCredential, type HopPorts, parseBody, send } from "@svc/hop";
import type { Limits } from "../limits.ts";
import type { CallTarget } from "../protocols/protocol.ts";
import { BoundedMap } from "./bounded-map.ts";
import { type GrantedSession, takeFirstHop } from "./first-hop.ts";

/** A further session of the same person and caller, in which the caller's own token serves its calls. */
interface Beside {
  readonly scope: string;
  readonly credential: HopCredential;
  readonly expiresAtMs: number;
}

/** Beside one presented token. */
interface Known {
  /** By session id. */
  readonly sessions: BoundedMap<string, Beside>;
  /** Where a call was sent before, by target and data class. */
  readonly calls: BoundedMap<string, Beside>;
  reading?: Promise<void> | undefined;
  /** Calls that wait for a consent. */
  waiting: number;
}

interface Sought {
  /** Any of them admits the call. */
  readonly scopes: readonly string[];
  /** A session that denied the call just now. */
  readonly except?: HopCredential | undefined;
}

export interface Wanted extends Sought {
  /** The person was sent to consent: the answer may take a while. */
  readonly isAwaited: boolean;
  readonly signal: AbortSignal;
}

export interface SessionsBesideOptions {
  readonly hop: HopPorts;
  /** The bearer of the enforcement plane: an agent never gets a root grant of a session that a person consented to. */
  readonly enforcementToken: string;
  readonly limits: Pick<Limits, "consentWaitMs" | "consentPollMs" | "maxCalls">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export type SessionsBeside = ReturnType<typeof createSessionsBeside>;

const maxCallers = 1024;
const maxSessions = 64;
const maxCalls = 1024;
/** A call that waits for a person holds a slot: of one caller only so many do, and of all a quarter. */
const maxWaiting = 4;

/**
 * Sessions that a person consented to beside the one of a call, for scopes that it lacks
 * (docs/reference/enforcement-point.md#sessions-beside). Nothing is requested before a call is denied for its scope.
 */
export function createSessionsBeside(options: SessionsBesideOptions) {
  const { hop, limits, now } = options;
  const callers = new BoundedMap<string, Known>(maxCallers);
  let waiting = 0;

  const knownOf = ({ token }: HopCredential): Known => {
    const known = callers.get(token) ?? {
      sessions: new BoundedMap(maxSessions),
      calls: new BoundedMap(maxCalls),
      waiting: 0,
    };
    callers.set(token, known);
    return known;
  };
  const isRunning = ({ expiresAtMs }: Beside): boolean => expiresAtMs > now();

  const fitting = ({ sessions }: Known, { scopes, except }: Sought): Beside | undefined => {
    const fits = (each: Beside) =>
      scopes.includes(each.scope) && isRunning(each) && each.credential.sessionId !== except?.sessionId;
    return [...sessions.values()].find(fits);
  };

  /** Takes hop 1 in the first session that fits and is not known yet. */
  async function read(caller: HopCredential, known: Known, { scopes, except }: Sought): Promise<void> {
    const granted = await readConsents(options, caller);
    const found = granted.find(
      ({ scope, sessionId }) =>
        scopes.includes(scope) && sessionId !== except?.sessionId && known.sessions.get(sessionId) === undefined,
    );
    const taken = found && (await takeFirstHop(hop, found));
    if (taken?.kind !== "credential") return;
    const { scope, sessionId, expiresAt } = found as ReadSession;
    known.sessions.set(sessionId, { scope, credential: taken.credential, expiresAtMs: Date.parse(expiresAt) });
  }

  async function search(caller: HopCredential, known: Known, wanted: Sought): Promise<Beside | undefined> {
    const already = fitting(known, wanted);
    if (already) return already;
    known.reading ??= read(caller, known, wanted).finally(() => {
      known.reading = undefined;
    });
    await known.reading;
    return fitting(known, wanted);
  }

  async function awaited(caller: HopCredential, known: Known, wanted: Wanted): Promise<Beside | undefined> {
    const endsMs = now() + limits.consentWaitMs;
    for (;;) {
      const found = await search(caller, known, wanted);
      if (found || wanted.signal.aborted || now() >= endsMs) return found;
      await delay(limits.consentPollMs, undefined, { signal: wanted.signal }).catch(() => {});
    }
  }

  return {
    /** The session that the same call was allowed in before. */
    of(caller: HopCredential, call: CallTarget): HopCredential | undefined {
      const beside = callers.size === 0 ? undefined : callers.get(caller.token)?.calls.get(keyOf(call));
      return beside && isRunning(beside) ? beside.credential : undefined;
    },
    /** What the running sessions are called in. @param scopes a session for each is looked for where none is known */
    async all(caller: HopCredential, scopes: readonly string[]): Promise<readonly HopCredential[]> {
      if (callers.size === 0 && scopes.length === 0) return [];
      const known = knownOf(caller);
      for (const scope of scopes) await search(caller, known, { scopes: [scope] });
      return [...known.sessions.values()].filter(isRunning).map(({ credential }) => credential);
    },
    /** A running session that covers one of the scopes, where hop 1 could be taken. */
    async find(caller: HopCredential, wanted: Wanted): Promise<HopCredential | undefined> {
      const known = knownOf(caller);
      const mayWait = wanted.isAwaited && known.waiting < maxWaiting && waiting < limits.maxCalls / 4;
      if (!mayWait) return (await search(caller, known, wanted))?.credential;
      known.waiting += 1;
      waiting += 1;
      try {
        return (await awaited(caller, known, wanted))?.credential;
      } finally {
        known.waiting -= 1;
        waiting -= 1;
      }
    },
    /** The call was allowed in this session: the same call begins there from now on. */
    remember(caller: HopCredential, call: CallTarget, { sessionId }: HopCredential): void {
      const { sessions, calls } = knownOf(caller);
      const beside = sessions.get(sessionId);
      if (beside) calls.set(keyOf(call), beside);
    },
    /** The call was not allowed there. @param isOver the session serves no call any more */
    leave(caller: HopCredential, call: CallTarget, { sessionId }: HopCredential, isOver: boolean): void {
      const { sessions, calls } = knownOf(caller);
      calls.delete(keyOf(call));
      if (isOver) sessions.delete(sessionId);
    },
  };
}

const keyOf = ({ target, dataClass }: CallTarget): string => `${target} ${dataClass}`;

type ReadSession = GrantedSession & { readonly expiresAt: string };

/** `POST /v1/session/consents`. Empty where there is no usable answer: the deny stays as it is. */
async function readConsents(
  { hop: { steps, pool, limits }, enforcementToken }: SessionsBesideOptions,
  caller: HopCredential,
): Promise<readonly ReadSession[]> {
  const options = { deadlineMs: limits.stepMs };
  const leased = await pool.leaseToDecide(caller, options);
  if (leased.kind !== "leased") return [];
  const { lease } = leased;
  try {
    const headers = { "content-type": "application/json", authorization: `Bearer ${enforcementToken}` };
    const body = JSON.stringify(toWire(sessionBesideRequest, { token: lease.token }));
    const sent = await send(steps, { method: "POST", path: "/v1/session/consents", headers, body }, options);
    const isRead = sent.kind === "received" && sent.response.status === 200;
    const read = isRead ? parseBody(sessionsBeside, sent.response) : undefined;
    return (read?.data ?? []).map((each) => fromWire(sessionBeside, each));
  } finally {
    lease.giveBack();
  }
}

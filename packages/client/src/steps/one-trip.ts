import { z } from "zod";
import { ask, bodyAs, bodyOf, type Unusable, unusable } from "./answer.ts";
import { askToDecide, type DecideRequest, type DecideResult, readDecision } from "./decide.ts";
import { type ExchangeResult, readExchange } from "./exchange.ts";
import type { HopCredential, StepOptions, StepPorts } from "./step.ts";
import type { TransportResponse } from "./transport.ts";

export const oneTripPath = "/v1/hop";

export type OneTripResult =
  /** The control plane serves no hop in one trip; it did nothing. */
  { readonly kind: "unserved" } | OneTrip;

export interface OneTrip {
  readonly kind: "taken";
  readonly decided: DecideResult;
  /** Absent where the decision is all there is, and only an ordinary exchange could follow. */
  readonly exchanged?: ExchangeResult;
  /** Nothing was spent, for certain. False after a lost answer: the token counts as spent, as after a lost exchange. */
  readonly isUnspent: boolean;
}

/**
 * `POST /v1/hop`: authorize and exchange in one trip. What is answered is held to what `decide` and `exchange` hold
 * theirs to. A refused connect is tried once more, anything else never: it may have spent the token.
 *
 * @param options the deadline is that of both steps together
 */
export async function decideAndExchange(
  ports: StepPorts,
  credential: HopCredential,
  request: DecideRequest,
  options: StepOptions,
): Promise<OneTripResult> {
  const startedMs = ports.monotonicMs();
  const more = ports.prover && { actor_token: await ports.prover.prove(credential.token) };
  const heard = await askToDecide(ports, { path: oneTripPath, credential, request, ...(more && { more }) }, options);
  const tookMs = ports.monotonicMs() - startedMs;
  if (heard.kind === "answered" && heard.response.status === 404) return { kind: "unserved" };
  const { trip, exchangeMs } = heard.kind === "unusable" ? lost(heard) : read(heard.response, credential, request);
  const { onStage } = options;
  onStage?.("decide", tookMs - Math.min(exchangeMs ?? 0, tookMs));
  if (exchangeMs !== null) onStage?.("exchange", Math.min(exchangeMs, tookMs));
  return trip;
}

/** Whether the control plane serves it, asked without a credential. Undefined where nobody says. */
export async function servesOneTrip(ports: StepPorts, options: StepOptions): Promise<boolean | undefined> {
  const heard = await ask(ports, { method: "POST", path: oneTripPath, headers: {} }, options);
  if (heard.kind === "unusable") return undefined;
  // Credentials are asked before anything else.
  return heard.response.status === 401 ? true : heard.response.status === 404 ? false : undefined;
}

interface Read {
  readonly trip: OneTrip;
  /** Null where no exchange was made. */
  readonly exchangeMs: number | null;
}

const decisionAlone = (decided: DecideResult, isUnspent: boolean): Read => ({
  trip: { kind: "taken", decided, isUnspent },
  exchangeMs: null,
});

const lost = (heard: Unusable): Read => decisionAlone(heard, heard.fault === "refused");

/** The parts are read by what reads them elsewhere. */
const bothShape = z.object({
  decision: z.unknown(),
  exchange: z.object({ status: z.int(), body: z.unknown() }).nullable(),
  stage_ms: z.object({ exchange: z.number().min(0).nullable() }),
});

function read(response: TransportResponse, credential: HopCredential, asked: DecideRequest): Read {
  const { status } = response;
  const { sessionId } = credential;
  if (status !== 200) {
    const decided = readDecision(status, bodyOf(response), sessionId, asked);
    return decisionAlone(decided, isUnspentAfter(decided));
  }
  const both = bodyAs(bothShape, response);
  // Without the answer, here and below: the body of a 200 may hold a token.
  if (!both) return decisionAlone(unusable("malformed"), false);
  const decided = readDecision(200, both.decision, sessionId, asked);
  if (both.exchange === null) return decisionAlone(decided, true);
  if (decided.kind !== "decided") return decisionAlone(decided, false);
  const { decision } = decided;
  // A deny spends nothing, and what a privileged call is bound to must be seen first.
  if (decision.outcome !== "allow" || decision.transactionRequired) return decisionAlone(unusable("mismatch"), false);
  const { target, dataClass } = asked;
  const request = { target, dataClass, actionId: decision.actionId };
  const exchanged = readExchange(both.exchange.status, both.exchange.body, credential, request);
  return { trip: { kind: "taken", decided, exchanged, isUnspent: false }, exchangeMs: both.stage_ms.exchange };
}

/** What the control plane itself refuses as a whole it refused before any exchange; whoever stands between may not know. */
const isUnspentAfter = (decided: DecideResult): boolean =>
  decided.kind === "audit_unavailable" ||
  (decided.kind === "unusable" && decided.answer !== undefined && decided.answer.status < 500);

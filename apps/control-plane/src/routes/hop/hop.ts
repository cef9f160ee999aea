import { authorizeRequest, hopResponse } from "@svc/core";
import type { Span } from "@svc/telemetry";
import type { AuthorizeCommand, Decided } from "../../commands/authorize.ts";
import type { App } from "../../http/endpoint.ts";
import { mount } from "../../http/mount.ts";
import { answerAuthorize, type HopRouteDeps, toAuthorizeCommand, toAuthorizeResponse } from "./authorize.ts";
import { answerExchange, slowDown } from "./exchange.ts";
import { openSpan, takeSpan, traceHeadersOf } from "./spans.ts";

const route = "/v1/hop";

export interface OneTripDeps extends HopRouteDeps {
  /** Undefined where this route is not served. */
  readonly oneTrip: OneTrip | undefined;
}

export interface OneTrip {
  /** Milliseconds on a clock that never steps; measures the stages. */
  readonly monotonicMs: () => number;
}

/**
 * Authorize and, where the call's body need not be seen first, exchange, in one trip of an enforcement point. It is no
 * third way to a token: the two run as they do by themselves, one after the other, and leave the same behind. What is
 * answered is the decision, committed, with whatever its exchange came to.
 */
export function hopRoute(app: App, deps: OneTripDeps): void {
  const { events, oneTrip } = deps;
  if (oneTrip === undefined) return;
  openSpan(app, route, events, events.decideStarted, events.authorizeMalformed);
  mount(
    app,
    deps,
    {
      method: "post",
      path: route,
      access: "current_hop",
      tag: "Hops",
      summary: "Authorize and exchange in one trip, for enforcement points; off by default.",
      body: authorizeRequest,
      replies: {
        200: {
          description: "The decision and, unless it was a deny or the body is to be seen first, its exchange.",
          schema: hopResponse,
        },
      },
      errors: ["unauthorized", "audit_unavailable"],
    },
    async ({ c, caller, body }) => {
      const { actor_token: actorToken, ...asked } = body;
      const command = toAuthorizeCommand(caller.token, asked);
      const startedMs = oneTrip.monotonicMs();
      const decided = await answerAuthorize(deps, () => takeSpan(c), command);
      const decidedMs = oneTrip.monotonicMs();
      const exchange = decided.spendableUnseen
        ? await exchangeNow(deps, events.exchangeStarted(traceHeadersOf(c)), decided, { ...command, actorToken })
        : null;
      const exchangeMs = exchange && oneTrip.monotonicMs() - decidedMs;
      const stage_ms = { decide: decidedMs - startedMs, exchange: exchangeMs };
      return c.json({ decision: toAuthorizeResponse(decided), exchange, stage_ms }, 200);
    },
  );
}

/** What `POST /v1/token/exchange` would do with a form that asks for just this hop: its rate is counted, then it runs. */
function exchangeNow(
  deps: HopRouteDeps,
  span: Span,
  { record }: Decided,
  { token, taint, actorToken }: Pick<AuthorizeCommand, "token" | "taint" | "actorToken">,
) {
  return deps.events.within(span, async () => {
    if ((await deps.limits.session(token)) > 0) {
      deps.events.exchangeMalformed(span);
      return { status: 429, body: slowDown };
    }
    const { actionId, target: resource, dataClass: scope } = record;
    return answerExchange(deps, () => span, { subjectToken: token, actorToken, resource, scope, actionId, taint });
  });
}

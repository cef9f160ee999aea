import type { IncomingMessage, ServerResponse } from "node:http";
import { admit } from "../decide/admit.ts";
import { settleBody } from "../decide/settle-body.ts";
import { valuesOf } from "../message/headers.ts";
import { bodyHeadersOf } from "../message/media-type.ts";
import { discardRest } from "../message/write-answer.ts";
import { calledAt, type Placed } from "../resolve/identify-call.ts";
import { type RequestLine, resolve } from "../resolve/resolve.ts";
import type { PepPorts } from "./ports.ts";
import { beginCall, blockCall, type ProxiedCall } from "./proxied-call.ts";
import { type Held, sendCall } from "./send.ts";

/** How this listener's own address may be spelled, for the connection a request came on. */
export type OwnAuthorities = (request: IncomingMessage) => ReadonlySet<string>;

/** The request line and `Host`, exactly as received. */
export const requestLineOf = (request: IncomingMessage, own: OwnAuthorities): RequestLine => ({
  method: request.method ?? "",
  target: request.url ?? "",
  hosts: valuesOf(request.rawHeaders, "host"),
  own: own(request),
});

/** Handles one request that is not for the enforcement point itself. Never rejects. */
export async function handleCall(
  ports: PepPorts,
  request: IncomingMessage,
  response: ServerResponse,
  own: OwnAuthorities,
): Promise<void> {
  const leave = ports.calls.enter();
  const call = beginCall(ports, request, response);
  const mode = ports.defaultMode;
  try {
    if (leave) await carryOut(call, requestLineOf(request, own), leave);
    else blockCall(call, { cause: "other" }, { mode, shed: true });
  } catch (error) {
    blockCall(call, { cause: "other" }, { mode, error });
  } finally {
    leave?.();
    call.generation.release();
    discardRest(request);
  }
}

/** Finds where a call goes, and its turn in its MCP session at once, before others arrive. */
async function carryOut(call: ProxiedCall, line: RequestLine, leave: () => void): Promise<void> {
  const { ports, request, presented } = call;
  const place = resolve(call.generation.upstreams, line);
  if (place.kind === "unresolvable") {
    const cause = presented.credential ? "unresolvable_call" : "unauthorized";
    return blockCall(call, { cause }, { mode: ports.defaultMode });
  }
  const { credential } = presented;
  const turn = ports.order.enter({ method: line.method, rawHeaders: request.rawHeaders, place, credential });
  try {
    await carryTo(place, call, { leave, turn });
  } finally {
    turn.answered();
  }
}

/** Bearer, what is called, decision, token, upstream (contract: What happens to a call). */
async function carryTo(place: Placed, call: ProxiedCall, held: Held): Promise<void> {
  const { ports, request, record, presented, body, signal } = call;
  const { upstream } = place;
  const called = await calledAt(call, place);
  if (called === "gone") return abandon(call);
  const headers = bodyHeadersOf(request.rawHeaders);
  const admission = await admit(ports, record, {
    presented,
    upstream,
    call: called.call,
    signal,
    settleBody: (decision) => settleBody(decision, body, headers, ports.limits),
  });
  switch (admission.kind) {
    case "gone":
      return abandon(call);
    case "blocked":
      return blockCall(call, admission.refusal, { mode: upstream.mode, id: called.id });
    default:
      await held.turn.comes(signal);
      return signal.aborted ? abandon(call) : sendCall(call, place, called, admission, held);
  }
}

/** Nobody waits for an answer, or nobody goes on asking. */
function abandon({ request, record }: ProxiedCall): void {
  request.destroy();
  record.abandon();
}

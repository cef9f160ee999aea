import { admit, type Refusal } from "../decide/admit.ts";
import { type InboundCredentials, isOfForeignPage } from "../decide/inbound-credentials.ts";
import { settleBody } from "../decide/settle-body.ts";
import type { IdentifiedCall } from "../protocols/protocol.ts";
import type { Resolved } from "../resolve/resolve.ts";
import { abandonCall, blockCall, type Call, type CallKind } from "./call.ts";
import type { Turn } from "./session-order.ts";

/** Resolves, admits, then blocks or forwards: the same for requests, WebSockets and tunnels. Never rejects. */
export async function handleCall<C extends Call>(kind: CallKind<C>, call: C): Promise<void> {
  const { ports, request, inbound, generation, releaseSlot } = call;
  let turn: Turn | undefined;
  try {
    if (!releaseSlot) return blockCall(kind, call, { cause: "other" }, { shed: true });
    if (isOfForeignPage(request.rawHeaders, call.own)) return blockCall(kind, call, foreignPage);
    const resolved = kind.resolve(call);
    if (resolved.kind === "unresolvable") {
      return blockCall(kind, call, unresolvable(inbound, resolved.message));
    }
    turn = ports.order.enter(request, resolved, inbound.credential);
    await authorizeAndForward(kind, call, resolved, turn);
  } catch (error) {
    blockCall(kind, call, { cause: "other" }, { error });
  } finally {
    turn?.answered();
    releaseSlot?.();
    generation.release();
    kind.end?.(call);
  }
}

const foreignPage: Refusal = {
  cause: "unauthorized",
  status: 403,
  message: "a page of another origin made this request without a bearer token; call from a program, with a token",
};

/** A caller without a credential does not learn what exists. */
const unresolvable = ({ credential, fault }: InboundCredentials, message: string | undefined): Refusal =>
  credential ? { cause: "unresolvable_call", message } : { cause: "unauthorized", message: fault };

/** Bearer, target, decision, token, upstream (docs/reference/enforcement-point.md#steps-of-a-call). */
async function authorizeAndForward<C extends Call>(
  kind: CallKind<C>,
  call: C,
  resolved: Resolved,
  turn: Turn,
): Promise<void> {
  const { ports, request, inbound, body, signal, record } = call;
  const { upstream } = resolved;
  const identified = await identifyCall(call, resolved);
  if (identified === "gone") return abandonCall(call);
  const admission = await admit(ports, {
    inbound,
    mode: upstream.mode,
    call: identified.call,
    signal,
    record,
    settleBody: (decision) => settleBody(decision, body, request.rawHeaders, ports.limits),
  });
  switch (admission.kind) {
    case "gone":
      return abandonCall(call);
    case "blocked":
      return blockCall(kind, call, admission.refusal, { upstream, id: identified.id });
    default:
      await turn.ready(signal);
      return signal.aborted ? abandonCall(call) : kind.forward(call, { resolved, identified, admission, turn });
  }
}

/** A body is read only for a request that presents a credential. */
function identifyCall(
  { request, inbound, body, ports }: Call,
  resolved: Resolved,
): IdentifiedCall | Promise<IdentifiedCall | "gone"> {
  if (resolved.kind === "call") return resolved;
  if (resolved.kind === "unmapped" || !inbound.credential) return {};
  return resolved.upstream.protocol.readCall(body, request.rawHeaders, ports.limits);
}

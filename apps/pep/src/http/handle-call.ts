import type { BlockCause } from "@svc/core";
import { type Admission, admit, type Passing } from "../decide/admit.ts";
import { changedToolBlock } from "../decide/changed-tools.ts";
import { unwatched, type Watch, watchSession } from "../decide/decide-again.ts";
import { isOfForeignPage, uncredentialed } from "../decide/inbound-credentials.ts";
import { settleBody } from "../decide/settle-body.ts";
import { pathTemplate } from "../decide/unlisted-calls.ts";
import { authorityIn, normalAuthority } from "../message/authority.ts";
import { valuesOf } from "../message/headers.ts";
import { blockedFor, type UnresolvedCall } from "../protocols/blocks.ts";
import type { IdentifiedCall } from "../protocols/protocol.ts";
import type { Resolved } from "../resolve/resolve.ts";
import { type AdmittedCall, abandonCall, blockCall, blockedAs, type Call, type CallKind } from "./call.ts";
import type { Turn } from "./session-order.ts";

/** Resolves, admits, then blocks or forwards: the same for requests, WebSockets and tunnels. Never rejects. */
export async function handleCall<C extends Call>(kind: CallKind<C>, call: C): Promise<void> {
  const { ports, request, inbound, generation, releaseSlot } = call;
  let turn: Turn | undefined;
  try {
    if (!releaseSlot) return blockCall(kind, call, blockedFor("shed"));
    if (isOfForeignPage(request.rawHeaders, call.own)) return blockCall(kind, call, blockedFor("foreign_page"));
    const resolved = kind.resolve(call);
    if (resolved.kind === "unresolvable") {
      noteUnlistedHost(call, resolved.why);
      // A caller without a credential does not learn what exists.
      return blockCall(kind, call, inbound.credential ? resolved.why : uncredentialed(inbound));
    }
    const known = inbound.handle === undefined ? call : await withRedeemedHandle(call, resolved);
    turn = ports.order.enter(request, resolved, known.inbound.credential);
    await authorizeAndForward(kind, known, resolved, turn);
  } catch (error) {
    blockCall(kind, call, { cause: "other" }, { error });
  } finally {
    turn?.answered();
    releaseSlot?.();
    generation.release();
  }
}

function noteUnlistedHost({ ports, request }: Call, { reason }: UnresolvedCall): void {
  if (reason !== "unlisted_host") return;
  const [host] = valuesOf(request.rawHeaders, "host");
  const authority = normalAuthority(authorityIn(request.url ?? "") ?? host ?? "");
  if (authority !== undefined) ports.unlistedHosts.note(authority, "refused");
}

/** The call under the credential that its access token is good for. At other upstreams such a token is none of ours. */
async function withRedeemedHandle<C extends Call>(call: C, { upstream }: Resolved): Promise<C> {
  const { ports, request, inbound } = call;
  const { handle } = inbound;
  if (handle === undefined || !upstream.resource || !ports.handles) return call;
  const redemption = await ports.handles.redeem(handle, upstream.resource.uri);
  if (redemption.kind === "refused") return { ...call, inbound: { handle, unredeemed: redemption.refusal } };
  const { credential } = redemption;
  const isOther = valuesOf(request.rawHeaders, "x-svc-session").some((named) => named !== credential.sessionId);
  return { ...call, inbound: isOther ? { fault: "other_session" } : { handle, credential } };
}

/** Bearer, target, decision, token, upstream (docs/reference/enforcement-point.md#steps-of-a-call). */
async function authorizeAndForward<C extends Call>(
  kind: CallKind<C>,
  call: C,
  resolved: Resolved,
  turn: Turn,
): Promise<void> {
  const { ports, request, inbound, body, signal, record } = call;
  const { upstream } = resolved;
  const read = await identifyCall(call, resolved);
  if (read === "gone") return abandonCall(call);
  const identified = await withoutChangedTool(call, resolved, read);
  record.carries(identified.trace);
  const admission = await admit(ports, {
    inbound,
    mode: upstream.mode,
    identified,
    signal,
    record,
    bodySettled: body.isAbsent || body.isWhole(),
    settleBody: (decision) => settleBody(decision, body, request.rawHeaders, ports.limits),
  });
  noteUnlisted(call, resolved, identified, admission);
  switch (admission.kind) {
    case "gone":
      return abandonCall(call);
    case "blocked":
      return blockCall(kind, call, admission.refusal, { upstream, identified, under: admission.under });
    default:
      return forwardWatched(kind, call, { resolved, identified, admission, turn, watch: watchOf(call, admission) });
  }
}

/** A tool that changed since its manifest was accepted is no call (docs/reference/enforcement-point.md#changed-tools). */
async function withoutChangedTool(
  { ports, inbound }: Call,
  { upstream }: Resolved,
  identified: IdentifiedCall,
): Promise<IdentifiedCall> {
  const { credential } = inbound;
  const target = identified.call?.target;
  if (!credential || target === undefined || !ports.definitions.wasListed(target)) return identified;
  const unresolved = await changedToolBlock(ports, upstream, credential, target);
  return unresolved ? { ...identified, call: undefined, unresolved } : identified;
}

const listedCauses: readonly BlockCause[] = ["unresolvable_call", "unbindable", "body_too_large"];

/** For an operator: what the upstreams file does not name yet, and which bodies could not be bound. */
function noteUnlisted(
  { ports, request }: Call,
  { upstream, path }: Resolved,
  { method: messageMethod }: IdentifiedCall,
  admission: Admission,
): void {
  const refusal = admission.kind === "gone" ? undefined : admission.refusal;
  if (!refusal || !listedCauses.includes(refusal.cause)) return;
  if (refusal.reason === "changed_tool") return;
  const [sentPath = ""] = path.split("?");
  const { basePath } = upstream.protocol;
  const template = pathTemplate(sentPath.startsWith(`${basePath}/`) ? sentPath.slice(basePath.length) : sentPath);
  ports.unlisted.note({
    upstream: upstream.name,
    method: request.method ?? "",
    path: messageMethod === undefined ? template : `#${messageMethod}`,
    cause: refusal.cause,
  });
}

const watchOf = ({ ports }: Call, admission: Passing): Watch =>
  admission.kind === "pass" ? watchSession(ports, admission.hop, admission.taken.token.claims) : unwatched;

/** A call that must end while it waits for its turn is never sent. */
async function forwardWatched<C extends Call>(kind: CallKind<C>, call: C, admitted: AdmittedCall): Promise<void> {
  const { turn, watch } = admitted;
  try {
    await turn.ready(call.signal);
    if (call.signal.aborted) return abandonCall(call);
    const refusal = watch.refusal();
    if (!refusal) return await kind.forward(call, admitted);
    blockCall(kind, call, refusal, blockedAs(call, admitted));
  } finally {
    watch.stop();
  }
}

/** A body is read only for a request that presents a credential. */
function identifyCall(
  { request, inbound, body, ports }: Call,
  resolved: Resolved,
): IdentifiedCall | Promise<IdentifiedCall | "gone"> {
  if (resolved.kind === "call") return resolved;
  if (!inbound.credential) return {};
  if (resolved.kind === "unmapped") return { unresolved: resolved.upstream.protocol.unmapped };
  return resolved.readCall(body, request.rawHeaders, ports.limits);
}

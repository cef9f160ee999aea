import type { DeliverSet } from "../../ports/security-events.ts";
import type { LeasedStream, SignalStreams, WaitingEvent } from "../../ports/signal-streams.ts";
import type { CommandDeps } from "../deps.ts";
import { openHeader } from "./sealed-header.ts";
import { disabledEvent, ownTransmitted, signEvent, transmittedEvent } from "./transmitted-event.ts";

export interface PushEventsDeps extends Pick<CommandDeps, "clock" | "ids" | "issuer" | "issuerKeys"> {
  readonly signalStreams: SignalStreams;
  /** Seals what receivers are authenticated with. */
  readonly receiverKey: Uint8Array;
  readonly deliver: DeliverSet;
}

/**
 * Leases a stream on which events wait, and returns what pushes them (RFC 8935): in order, each once the one before was
 * answered. Undefined if no stream waits. The push throws the fault of a delivery, which is tried again later.
 */
export async function nextPush(deps: PushEventsDeps): Promise<(() => Promise<void>) | undefined> {
  const stream = await deps.signalStreams.lease();
  return stream && (() => pushLeased(deps, stream));
}

async function pushLeased(deps: PushEventsDeps, stream: LeasedStream): Promise<void> {
  let outcome: "delivered" | "failed" = "failed";
  try {
    await pushWaiting(deps, stream);
    outcome = "delivered";
  } finally {
    await deps.signalStreams.release(stream, outcome);
  }
}

async function pushWaiting(deps: PushEventsDeps, stream: LeasedStream): Promise<void> {
  const { signalStreams, issuer } = deps;
  const send = await sender(deps, stream);
  if (stream.ownEvent !== null) {
    await send(ownTransmitted(stream.ownEvent, stream));
    await signalStreams.clearOwnEvent(stream.streamId, stream.ownEvent.eventId);
  }
  const isUnsent = (event: WaitingEvent) => transmittedEvent(event, stream, issuer) === undefined;
  const next = async (delivered?: string) =>
    (
      await signalStreams.settle(stream, (each) => each.eventId === delivered || isUnsent(each), disabledEvent(deps))
    )[0];
  for (let event = await next(); event !== undefined; event = await next(event.eventId)) {
    const transmitted = transmittedEvent(event, stream, issuer);
    if (transmitted !== undefined) await send(transmitted);
  }
}

async function sender({ deliver, receiverKey, ...deps }: PushEventsDeps, stream: LeasedStream) {
  const { endpointUrl, sealedAuthorization } = stream;
  const authorization = sealedAuthorization === null ? undefined : await openHeader(sealedAuthorization, receiverKey);
  return async (transmitted: Parameters<typeof signEvent>[2]): Promise<void> =>
    deliver({ url: endpointUrl ?? "", authorization, token: await signEvent(deps, stream, transmitted) });
}

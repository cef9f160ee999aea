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
 * Pushes what waits on one stream (RFC 8935), in order, each event once the one before was answered. False if no stream
 * waits. @throws the fault of a delivery, which is tried again later
 */
export async function pushNextStream(deps: PushEventsDeps): Promise<boolean> {
  const stream = await deps.signalStreams.lease();
  if (stream === undefined) return false;
  let outcome: "delivered" | "failed" = "failed";
  try {
    await pushWaiting(deps, stream);
    outcome = "delivered";
  } finally {
    await deps.signalStreams.release(stream, outcome);
  }
  return true;
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

import { pollDelivery, pushDelivery, type streamCreate } from "@svc/core";
import { isLoopback } from "@svc/host";
import type { BodyOf } from "../../commands/deps.ts";
import { openHeader, sealHeader } from "../../commands/signals/sealed-header.ts";
import { transmittedTypes } from "../../commands/signals/transmitted-event.ts";
import { invalidRequest } from "../../http/api-error.ts";
import type { SignalStream, StreamSettings } from "../../ports/signal-streams.ts";
import type { Deps } from "../deps.ts";

/** What a receiver supplies. */
export type Supplied = BodyOf<typeof streamCreate>;

/** @throws {ApiError} `invalid_request` for an address that no event may be sent to */
export async function settingsOf({ receiverKey }: Deps, supplied: Supplied): Promise<StreamSettings> {
  const { delivery, eventsRequested = transmittedTypes, description = null } = supplied;
  if (delivery?.method !== pushDelivery) {
    return { endpointUrl: null, sealedAuthorization: null, eventsRequested, description };
  }
  const { endpointUrl, authorizationHeader } = delivery;
  requireEndpoint(new URL(endpointUrl));
  const sealedAuthorization =
    authorizationHeader === undefined ? null : await sealHeader(authorizationHeader, receiverKey);
  return { endpointUrl, sealedAuthorization, eventsRequested, description };
}

/** Which addresses are reached decides the guard, at each delivery. */
function requireEndpoint({ protocol, hostname, username, password, hash }: URL): void {
  const isSecure = protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  if (isSecure && username === "" && password === "" && hash === "") return;
  const message = "must be an https address without credentials and fragment";
  throw invalidRequest("The body is not what this route takes.", [{ path: "delivery.endpoint_url", message }]);
}

/** The members that a change names. */
export const given = (body: Supplied): Supplied =>
  Object.fromEntries(
    (["delivery", "eventsRequested", "description"] as const).flatMap((name) =>
      body[name] === undefined ? [] : [[name, body[name]]],
    ),
  );

/** What the receiver supplied before. */
export async function suppliedOf({ receiverKey }: Deps, stream: SignalStream): Promise<Supplied> {
  const { endpointUrl, sealedAuthorization, eventsRequested, description } = stream;
  return {
    eventsRequested,
    ...(description !== null && { description }),
    delivery:
      endpointUrl === null
        ? { method: pollDelivery }
        : {
            method: pushDelivery,
            endpointUrl,
            ...(sealedAuthorization !== null && {
              authorizationHeader: await openHeader(sealedAuthorization, receiverKey),
            }),
          },
  };
}

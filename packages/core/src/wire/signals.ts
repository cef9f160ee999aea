import { z } from "zod";
import { userSub } from "../names.ts";

/** Bodies of shared signals (OpenID Shared Signals Framework 1.0), to receivers of this service's events. */

export const streamStatuses = ["enabled", "paused", "disabled"] as const;
export type StreamStatus = (typeof streamStatuses)[number];

export const pushDelivery = "urn:ietf:rfc:8935";
export const pollDelivery = "urn:ietf:rfc:8936";

const headerValue = z
  .string()
  .max(4_096)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, "must be the text of a header");

const delivery = z.discriminatedUnion("method", [
  z.object({
    method: z.literal(pushDelivery),
    endpoint_url: z.url().max(2_000),
    authorization_header: headerValue.optional(),
  }),
  /** The address is the transmitter's. */
  z.object({ method: z.literal(pollDelivery), endpoint_url: z.string().optional() }),
]);

/** What the receiver supplies, and members of ours that must be as they are. */
const streamBody = {
  delivery: delivery.optional(),
  events_requested: z.array(z.string().max(500)).max(100).optional(),
  description: userSub.optional(),
};
const ours = {
  iss: z.unknown().optional(),
  aud: z.unknown().optional(),
  events_supported: z.unknown().optional(),
  events_delivered: z.unknown().optional(),
};

export const streamCreate = z.object(streamBody);
export const streamChange = z.object({ stream_id: z.string(), ...streamBody, ...ours });

export const streamStatusChange = z.object({
  stream_id: z.string(),
  status: z.enum(streamStatuses),
  reason: userSub.optional(),
});
export const streamVerification = z.object({ stream_id: z.string(), state: z.string().max(1_000).optional() });
export const streamQuery = z.strictObject({ stream_id: z.string().optional() });

const errorOfSet = z.object({ err: z.string(), description: z.string().optional() });

/** RFC 8936 section 2.2. Its members are in camel case on the wire. */
export const pollRequest = z.object({
  maxEvents: z.int().min(0).optional(),
  returnImmediately: z.boolean().default(false),
  ack: z.array(z.string()).max(1_000).default([]),
  setErrs: z.record(z.string(), errorOfSet).default({}),
});

import { type EvidenceFormat, renderItem } from "@svc/seals";
import { Webhook } from "standardwebhooks";
import type { Clock } from "../../ports/clock.ts";
import type { Receiver } from "./receiver.ts";

export interface WebhookSettings {
  readonly url: URL;
  /** As Standard Webhooks writes it: `whsec_` and base64. */
  readonly secret: string;
  readonly format: EvidenceFormat;
  /** Value of `Authorization`. */
  readonly authorization: string | undefined;
}

const mediaTypes: Readonly<Record<EvidenceFormat, string>> = {
  cloudevents: "application/cloudevents-batch+json",
  ocsf: "application/x-ndjson",
  jsonl: "application/x-ndjson",
};

/** A batch of CloudEvents, or lines; signed by Standard Webhooks 1.0. */
export function webhookReceiver({ url, secret, format, authorization }: WebhookSettings, clock: Clock): Receiver {
  const signer = new Webhook(secret);
  return {
    sink: "webhook",
    url,
    part(item) {
      const value = renderItem(format, item);
      return { value, bytes: Buffer.byteLength(value) + 1 };
    },
    message(parts, id) {
      const lines = parts.map(({ value }) => value);
      const body = format === "cloudevents" ? `[${lines.join(",")}]` : `${lines.join("\n")}\n`;
      const at = new Date(clock.nowMs());
      const headers = {
        "content-type": mediaTypes[format],
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
        "webhook-signature": signer.sign(id, at, body),
        ...(authorization !== undefined && { authorization }),
      };
      return { body, headers };
    },
    refused: () => 0,
  };
}

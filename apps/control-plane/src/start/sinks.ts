import type { Receiver } from "../background/delivery/receiver.ts";
import { runDelivery } from "../background/run-delivery.ts";
import { budgets } from "../budgets.ts";
import type { Clock } from "../ports/clock.ts";
import type { IssuerKeys } from "../ports/issuer-keys.ts";
import type { Sinks } from "../ports/sinks.ts";
import type { Authenticity } from "../postgres/authenticity.ts";
import { sinks } from "../postgres/sinks.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

export const sinksOf = ({ submissions }: Stores, authenticity: Authenticity, keys: IssuerKeys): Sinks =>
  sinks({
    pool: submissions.within(budgets.auditRead),
    proof: { authenticity, keys: () => keys.current().lookup },
  });

interface StartSinks {
  readonly config: Config;
  readonly version: string;
  readonly sinks: Sinks;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/** Delivers to each sink of the settings. Loads and runs nothing without one. */
export async function startSinks({ sinks, onFault, ...settings }: StartSinks) {
  const receivers = await receiversOf(settings);
  const deliveries = receivers.map((receiver) => runDelivery({ sinks, receiver, onFault }));
  return { close: async () => void (await Promise.all(deliveries.map(({ close }) => close()))) };
}

async function receiversOf({ config, version, clock }: Pick<StartSinks, "config" | "version" | "clock">) {
  const { webhook, otlp } = config.sinks;
  const receivers: Receiver[] = [];
  if (webhook !== undefined) {
    const { webhookReceiver } = await import("../background/delivery/webhook.ts");
    receivers.push(webhookReceiver(webhook, clock));
  }
  if (otlp !== undefined) {
    const { otlpReceiver } = await import("../background/delivery/otlp.ts");
    receivers.push(otlpReceiver(otlp, clock, version));
  }
  return receivers;
}

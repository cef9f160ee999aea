import { setTimeout as delay } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { Webhook } from "standardwebhooks";
import type { AskPerson, ConsentRequested } from "../ports/ask-person.ts";
import type { Clock } from "../ports/clock.ts";
import { linkSeconds } from "./consent-link.ts";

interface WebhookSettings {
  readonly url: URL;
  /** As Standard Webhooks writes it: `whsec_` and base64. */
  readonly secret: string;
  readonly clock: Clock;
  readonly onFailed: (cause: unknown) => void;
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds before each further try. */
  readonly pausesMs?: readonly number[];
}

const timeoutMs = 10_000;
/** Questions on their way. What is more is not sent: the answer to the call has the same link. */
const mostAtOnce = 100;
/** A denied agent tries again: one message in the life of a link is enough. */
const rememberedQuestions = 10_000;

/**
 * Tells a system of the operator's, by a signed request (Standard Webhooks 1.0), that a person is asked for a consent.
 * At most once for each session, agent and scope in the life of a link, and without a store: the call's own answer and its
 * explanation have the link too.
 */
export function consentWebhook({ pausesMs = [1_000, 5_000, 30_000], ...settings }: WebhookSettings): AskPerson {
  const { clock, onFailed } = settings;
  const asked = new LRUCache<string, true>({
    max: rememberedQuestions,
    ttl: linkSeconds * 1_000,
    perf: { now: () => clock.nowMs() },
  });
  let sending = 0;
  return (request) => {
    const key = JSON.stringify([request.record.sessionId, request.record.actingAgent, request.scope]);
    if (asked.has(key) || sending >= mostAtOnce) return;
    asked.set(key, true);
    sending += 1;
    deliver(settings, request, pausesMs)
      .catch(onFailed)
      .finally(() => {
        sending -= 1;
      });
  };
}

async function deliver(settings: WebhookSettings, request: ConsentRequested, pausesMs: readonly number[]) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send(settings, request);
    } catch (cause) {
      const pauseMs = pausesMs[attempt];
      if (pauseMs === undefined) throw cause;
      await delay(pauseMs, undefined, { ref: false });
    }
  }
}

/** @throws for any answer but a success */
async function send(
  { url, secret, clock, fetch = globalThis.fetch }: WebhookSettings,
  request: ConsentRequested,
): Promise<void> {
  const body = JSON.stringify(payloadOf(request));
  const id = `msg_${request.record.actionId}`;
  const at = new Date(clock.nowMs());
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
    body,
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the consent webhook was answered with ${response.status}`);
}

const payloadOf = ({ url, userSub, scope, record }: ConsentRequested) => ({
  type: "consent.requested",
  timestamp: new Date(record.decidedAtMs).toISOString(),
  data: {
    consent_url: url,
    expires_at: new Date(record.decidedAtMs + linkSeconds * 1_000).toISOString(),
    user_sub: userSub,
    scope,
    agent: record.actingAgent,
    target: record.target,
    data_class: record.dataClass,
    session_id: record.sessionId,
    action_id: record.actionId,
  },
});

import { sessionTargetPage } from "@svc/core";
import { type HopCredential, type HopPorts, parseBody, send } from "@svc/hop";
import type { AllowedTools } from "../protocols/protocol.ts";

const maxPages = 64;
const maxResponseBytes = 1024 * 1024;

/** Reads every page of `GET /v1/session/targets`. It spends no token. Undefined if any page fails. */
export async function fetchAllowedTools(
  { steps, pool, limits }: HopPorts,
  credential: HopCredential,
): Promise<AllowedTools | undefined> {
  const endsMs = steps.monotonicMs() + limits.hopMs;
  const deadline = () => ({ deadlineMs: Math.min(limits.stepMs, endsMs - steps.monotonicMs()) });
  const leased = await pool.leaseToDecide(credential, deadline());
  if (leased.kind !== "leased") return undefined;
  const { lease } = leased;
  const headers = { authorization: `Bearer ${lease.token}` };
  const allowed = new Map<string, readonly string[]>();
  let cursor: string | null = null;
  try {
    for (let page = 0; page < maxPages; page++) {
      const path = `/v1/session/targets?${new URLSearchParams({ limit: "200", ...(cursor !== null && { cursor }) })}`;
      const sent = await send(steps, { method: "GET", path, headers, maxResponseBytes }, deadline());
      if (sent.kind === "unusable" || sent.response.status !== 200) return undefined;
      const body = parseBody(sessionTargetPage, sent.response);
      if (!body) return undefined;
      for (const { target, data_classes } of body.data) allowed.set(target, data_classes);
      cursor = body.page.next_cursor;
      if (cursor === null) return allowed;
    }
    return undefined;
  } finally {
    lease.giveBack();
  }
}

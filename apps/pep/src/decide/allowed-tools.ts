import { sessionTargetPage } from "@svc/core";
import type { HopCredential, HopPorts, Transport } from "@svc/hop";
import type { AllowedTools } from "../protocols/protocol.ts";

const maxPages = 64;
const maxResponseBytes = 1024 * 1024;

/** Reads every page of `GET /v1/session/targets`. It spends no token. Undefined if any page fails. */
export async function fetchAllowedTools(
  transport: Transport,
  { steps: { monotonicMs }, pool, limits }: HopPorts,
  credential: HopCredential,
): Promise<AllowedTools | undefined> {
  const endsMs = monotonicMs() + limits.hopMs;
  const deadlineMs = () => Math.min(limits.stepMs, endsMs - monotonicMs());
  const leased = await pool.lease(credential, { deadlineMs: deadlineMs() });
  if (leased.kind !== "leased") return undefined;
  const { lease } = leased;
  const headers = { accept: "application/json", authorization: `Bearer ${lease.token}` };
  const allowed = new Map<string, readonly string[]>();
  let cursor: string | null = null;
  try {
    for (let page = 0; page < maxPages; page++) {
      const path = `/v1/session/targets?${new URLSearchParams({ limit: "200", ...(cursor !== null && { cursor }) })}`;
      const request = { method: "GET", path, headers, deadlineMs: deadlineMs(), maxResponseBytes } as const;
      const response = await transport.send(request);
      if (response.status !== 200) return undefined;
      const { data, page: next } = sessionTargetPage.parse(JSON.parse(response.body));
      for (const { target, data_classes } of data) allowed.set(target, data_classes);
      cursor = next.next_cursor;
      if (cursor === null) return allowed;
    }
  } catch {
    // No usable response.
  } finally {
    lease.giveBack();
  }
  return undefined;
}

import { sessionTargetPage } from "@svc/core";
import type { HopCredential, RenewalPool, Transport } from "@svc/hop";
import type { Limits } from "../limits.ts";
import type { AllowedTools } from "../protocols/protocol.ts";

export interface AllowedToolsPorts {
  readonly transport: Transport;
  readonly pool: RenewalPool;
  readonly limits: Pick<Limits, "stepMs" | "hopMs">;
  readonly monotonicMs: () => number;
}

const pageLimit = 200;
const maxPages = 64;
const maxPageBytes = 1024 * 1024;

/**
 * `GET /v1/session/targets`, all pages: what the caller may call on the pinned policy and the present state. It spends
 * nothing. Undefined where any part of it cannot be had.
 */
export async function fetchAllowedTools(
  ports: AllowedToolsPorts,
  credential: HopCredential,
): Promise<AllowedTools | undefined> {
  const endsMs = ports.monotonicMs() + ports.limits.hopMs;
  const deadlineMs = () => Math.min(ports.limits.stepMs, endsMs - ports.monotonicMs());
  const leased = await ports.pool.lease(credential, { deadlineMs: deadlineMs() });
  if (leased.kind !== "leased") return undefined;
  try {
    return await allPages(ports.transport, leased.lease.token, deadlineMs);
  } catch {
    return undefined;
  } finally {
    leased.lease.giveBack();
  }
}

async function allPages(
  transport: Transport,
  token: string,
  deadlineMs: () => number,
): Promise<AllowedTools | undefined> {
  const allowed = new Map<string, readonly string[]>();
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const query = new URLSearchParams({ limit: String(pageLimit), ...(cursor !== null && { cursor }) });
    const response = await transport.send({
      method: "GET",
      path: `/v1/session/targets?${query}`,
      headers: { accept: "application/json", authorization: `Bearer ${token}` },
      deadlineMs: deadlineMs(),
      maxResponseBytes: maxPageBytes,
    });
    if (response.status !== 200) return undefined;
    const { data, page: next } = sessionTargetPage.parse(JSON.parse(response.body));
    for (const { target, data_classes } of data) allowed.set(target, data_classes);
    cursor = next.next_cursor;
    if (cursor === null) return allowed;
  }
  return undefined;
}

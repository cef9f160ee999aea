import { sessionTargetPage } from "@svc/core";
import type { HopCredential, HopPorts, Transport } from "@svc/hop";
import type { AllowedTools } from "../protocols/protocol.ts";

const pageLimit = 200;
const maxPages = 64;
const maxPageBytes = 1024 * 1024;

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
  try {
    return await allPages(transport, leased.lease.token, deadlineMs);
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

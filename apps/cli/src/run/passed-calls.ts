import { unlistedCalls, unlistedHosts } from "@svc/core";

/** What an enforcement point counted since its start. */
export type Passed = Awaited<ReturnType<typeof passedCalls>>;

const timeoutMs = 10_000;

/** @param adminUrl of the enforcement point */
export async function passedCalls(adminUrl: string) {
  const get = async (name: string): Promise<string> => {
    const response = await fetch(`${adminUrl}/__svc/${name}`, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return response.text();
  };
  const [unlisted, hosts, metrics] = await Promise.all([get("unlisted"), get("hosts"), get("metrics")]);
  const [, allowed = "0"] = /^svc_pep_calls_total\{outcome="allowed"\} (\d+)/m.exec(metrics) ?? [];
  return {
    allowed: Number(allowed),
    unlisted: unlistedCalls.parse(JSON.parse(unlisted)).unlisted,
    hosts: unlistedHosts.parse(JSON.parse(hosts)).hosts,
  };
}

import { createApi, refusalCode } from "./api.ts";
import { bearersOf, type Deployment } from "./deployment.ts";
import { clerkSession, ledgerHops, registerLedger } from "./ledger.ts";

/**
 * Prerequisites of the suite that a deployment may lack, checked before any test runs, so that one line with the remedy
 * replaces hundreds of failed tests.
 * @returns undefined where the deployment has all
 */
export async function missingFrom(deployment: Deployment): Promise<string | undefined> {
  const api = createApi(deployment.url, bearersOf(deployment));
  const status = async (path: string, bearer?: string) =>
    (await api.call("GET", path, bearer === undefined ? {} : { bearer })).status;
  const ready = await status("/readyz").catch(() => "no response");
  if (ready !== 200) return `${deployment.url}/readyz returns ${ready}: --base-url must name a ready control plane.`;
  const planes = [
    ["--admin-token", "/v1/agents", deployment.adminToken],
    ["--audit-token", "/v1/audit/decisions", deployment.auditToken],
    ["--identity-token", "/v1/identity/revocations", deployment.identityToken],
  ] as const;
  for (const [option, path, token] of planes) {
    const returned = token === null ? 200 : await status(path, token);
    if (returned === 429) return rateLimited;
    if (returned !== 200) return `${option} is refused (${returned}): use a bearer of that plane.`;
  }
  const { enforcementToken } = deployment;
  if (enforcementToken !== null) {
    // 400: the bearer was taken, and the body is none.
    const { status: returned } = await api.call("POST", "/v1/handles/redeem", { bearer: enforcementToken, body: {} });
    if (returned !== 400) return `--enforcement-token is refused (${returned}): use a bearer of that plane.`;
  }
  return missingFromHop(api);
}

const rateLimited =
  "The deployment limits rates: unset SVC_RATE_LIMIT_PER_BEARER and SVC_RATE_LIMIT_PER_SESSION while the suite runs.";

/** A chain of three hops, as in most tests. */
async function missingFromHop(api: ReturnType<typeof createApi>): Promise<string | undefined> {
  const scope = `preflight-${crypto.randomUUID().slice(0, 8)}`;
  try {
    await registerLedger(api, scope);
    const { session, clerk } = await clerkSession(api, scope);
    await api.hop(session, clerk.token, ledgerHops(scope).read);
    return undefined;
  } catch (cause) {
    if (api.calls.some(({ answer }) => answer.status === 429)) return rateLimited;
    const refused = api.calls.findLast(({ answer }) => refusalCode(answer) !== undefined)?.answer;
    return refused?.text.includes("actor_token")
      ? "The deployment requires agents' identities: set SVC_IDENTITY_REQUIRED=false while the suite runs."
      : `A chain of three hops failed: ${cause instanceof Error ? cause.message : cause}`;
  }
}

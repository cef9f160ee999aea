import { createApi, refusalCode } from "./api.ts";
import { bearersOf, type Deployment } from "./deployment.ts";
import { clerkSession, ledgerHops, registerLedger } from "./ledger.ts";

/**
 * What the suite stands on and a deployment may lack: told before anything runs, in one line that says what to change,
 * instead of by hundreds of tests that fail for one cause.
 * @returns undefined where all is there
 */
export async function missingFrom(deployment: Deployment): Promise<string | undefined> {
  const api = createApi(deployment.url, bearersOf(deployment));
  const status = async (path: string, bearer?: string) =>
    (await api.call("GET", path, bearer === undefined ? {} : { bearer })).status;
  const ready = await status("/readyz").catch(() => "no answer");
  if (ready !== 200)
    return `${deployment.url}/readyz gives ${ready}: name the base address of a control plane that is ready.`;
  const planes = [
    ["--admin-token", "/v1/agents", deployment.adminToken],
    ["--audit-token", "/v1/audit/decisions", deployment.auditToken],
    ["--identity-token", "/v1/identity/revocations", deployment.identityToken],
  ] as const;
  for (const [option, path, token] of planes) {
    const answered = token === null ? 200 : await status(path, token);
    if (answered === 429) return rateLimited;
    if (answered !== 200) return `${option} is not taken (${answered}): give one of that plane's bearers.`;
  }
  return missingFromHop(api);
}

const rateLimited =
  "The deployment limits rates: unset SVC_RATE_LIMIT_PER_BEARER and SVC_RATE_LIMIT_PER_SESSION while it is held to the suite.";

/** One chain of three, as most tests make it. */
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
      ? "The deployment requires agents' identities: set SVC_IDENTITY_REQUIRED=false while it is held to the suite."
      : `A chain of three hops could not be made: ${cause instanceof Error ? cause.message : cause}`;
  }
}

import { createMigratedDatabase, startControlPlane, testBearers } from "@svc/test-support";
import { signInClient, signInSettings } from "@svc/test-support/openid-provider";
import postgres from "postgres";
import { createApi } from "./api.ts";
import { enrolling } from "./enrollment.ts";
import { startIdentityProvider } from "./identity-provider.ts";

export type IdentityStack = Awaited<ReturnType<typeof startIdentityStack>>;

/** A control plane on its own database that enrolls agents with assertions of a real OpenID provider. */
export async function startIdentityStack(env: Readonly<Record<string, string>> = {}) {
  const [database, provider] = await Promise.all([createMigratedDatabase(), startIdentityProvider([signInClient()])]);
  const controlPlane = await startControlPlane(
    { database },
    { SVC_IDP_AUDIENCE: provider.audience, ...signInSettings(provider), ...env },
  );
  const api = createApi(controlPlane.url, testBearers);
  const sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  let agentCount = 0;
  return {
    api,
    provider,
    /** As the owner of the schema. */
    sql,
    databaseUrl: database.ownerUrl,
    ...enrolling(api),
    /** Registers an agent for one test and returns its name. */
    async newAgent(): Promise<string> {
      const name = `agent-${++agentCount}`;
      const { status, text } = await api.attest(name, { books: { hop_budget: 2 } });
      if (status !== 201) throw new Error(text);
      return name;
    },
    /** A person's assertion for a key. */
    vouched: async (key: { readonly kid: string }, person = "ada") => ({
      principal_assertion: await provider.idToken(person, key.kid),
    }),
    /** The audit events of an agent's identity, oldest first. */
    async eventsOf(agent: string): Promise<readonly AuditEvent[]> {
      const { body } = await api.call("GET", `/v1/audit/events?agent=${agent}`, { bearer: testBearers.audit });
      const events: readonly AuditEvent[] = body.data;
      return events.filter(({ kind }) => !kind.startsWith("manifest")).toReversed();
    },
    async stop() {
      await Promise.all([controlPlane.stop(), provider.stop(), sql.end()]);
      await database.drop();
    },
  };
}

interface AuditEvent {
  readonly kind: string;
  readonly details: object;
}

import { testBearers } from "@svc/test-support";

/** The Secrets that must exist before the chart is installed: Secret to key to text. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Those of the default values, and the keys that the variants add. */
export const givenSecrets = (stores: { database: string; owner: string; redis: string }): Secrets => ({
  "svc-control-plane": {
    "database-url": stores.database,
    "audit-database-url": stores.database,
    "redis-url": stores.redis,
    "admin-token": testBearers.admin,
    "audit-token": testBearers.audit,
    "identity-token": testBearers.identity,
    "telemetry-key": "telemetry-key-of-the-tests",
    "key-encryption-key": Buffer.alloc(32, 7).toString("base64"),
    "issuer.pem": "a key that is only read when it signs",
    "enforcement-token": `gateway=${"enforcement-token-of-the-tests-".padEnd(48, "0")}`,
    "consent-webhook-secret": `whsec_${Buffer.alloc(32, 9).toString("base64")}`,
    "signals-token": `provider=${"signals-token-of-the-tests-".padEnd(48, "0")}`,
    "signals-poll-token": "a-token-of-the-provider",
    "sink-webhook-secret": `whsec_${Buffer.alloc(32, 11).toString("base64")}`,
    "sink-webhook-authorization": "Splunk abc",
    "sink-otlp-authorization": "Bearer abc",
    "oauth-clients.json": JSON.stringify([
      { client_id: "notebook", client_name: "Notebook", redirect_uris: ["https://notebook.example/callback"] },
    ]),
    "idp-client-secret": "a-secret-of-the-client-in-tests",
    "discovery.json": JSON.stringify({ "https://ledger.internal": "Bearer of-the-tests" }),
  },
  "svc-control-plane-migration": { "migration-database-url": stores.owner },
});

import { expect, test } from "vitest";
import { chartFolder, helm } from "./src/helm.ts";
import { renderArguments } from "./src/render.ts";

/** A wrong value, and helm's message: the value's path and the rule. */
const refused: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ replicas: 3 }, "additional properties 'replicas' not allowed"],
  [{ controlPlane: { replica: 3 } }, "at '/controlPlane': additional properties 'replica' not allowed"],
  [{ controlPlane: { replicas: 0 } }, "at '/controlPlane/replicas': minimum: got 0, want 1"],
  [{ controlPlane: { replicas: "2" } }, "at '/controlPlane/replicas': got string, want integer"],
  [{ controlPlane: { workers: 257 } }, "at '/controlPlane/workers': maximum: got 257, want 256"],
  [{ controlPlane: { databaseConnections: 9 } }, "at '/controlPlane/databaseConnections': minimum: got 9, want 10"],
  [{ controlPlane: { consentTtlSeconds: 30 } }, "at '/controlPlane/consentTtlSeconds': minimum: got 30, want 60"],
  [
    { controlPlane: { issuer: "authz.example.com" } },
    "at '/controlPlane/issuer': 'authz.example.com' does not match pattern",
  ],
  [{ controlPlane: { observeScopes: ["*", "expenses"] } }, "at '/controlPlane/observeScopes'"],
  [{ controlPlane: { observeScopes: ["none"] } }, "at '/controlPlane/observeScopes"],
  [{ controlPlane: { observeScopes: [" blank"] } }, "at '/controlPlane/observeScopes"],
  [{ controlPlane: { observeScopes: ["a,b"] } }, "at '/controlPlane/observeScopes"],
  [
    { controlPlane: { rateLimits: { perBearer: "600" } } },
    "at '/controlPlane/rateLimits/perBearer': '600' does not match pattern",
  ],
  [
    { controlPlane: { identityProvider: { issuer: "https://idp.example" } } },
    "at '/controlPlane/identityProvider': 'anyOf' failed",
  ],
  [
    { controlPlane: { identityProvider: { audience: "authz" } } },
    "at '/controlPlane/identityProvider/audience': maxLength: got 5, want 0",
  ],
  [
    { controlPlane: { identityProvider: { clientId: "authz" } } },
    "at '/controlPlane/identityProvider/clientId': maxLength: got 5, want 0",
  ],
  [
    { controlPlane: { consoleRoles: ["platform=owner"] } },
    "at '/controlPlane/consoleRoles/0': 'platform=owner' does not match pattern",
  ],
  [
    { controlPlane: { consentTtlByScope: ["payments-approval=5"] } },
    "at '/controlPlane/consentTtlByScope/0': 'payments-approval=5' does not match pattern",
  ],
  [
    { controlPlane: { oauthResources: ["tools.example"] } },
    "at '/controlPlane/oauthResources/0': 'tools.example' does not match pattern",
  ],
  [
    { controlPlane: { secrets: { keys: { keyEncryptionKey: "" } } } },
    "at '/controlPlane/secrets/keys/keyEncryptionKey': minLength: got 0, want 1",
  ],
  [{ controlPlane: { secrets: { keys: { redisUrl: "" } } } }, "at '/controlPlane/secrets/keys/redisUrl'"],
  [
    { controlPlane: { otel: { SVC_DEV: "true" } } },
    "at '/controlPlane/otel': additional properties 'SVC_DEV' not allowed",
  ],
  [
    { controlPlane: { podLabels: { "app.kubernetes.io/component": "other" } } },
    "at '/controlPlane/podLabels/app.kubernetes.io~1component': false schema",
  ],
  [
    { controlPlane: { resources: { limit: {} } } },
    "at '/controlPlane/resources': additional properties 'limit' not allowed",
  ],
  [
    { controlPlane: { image: { digest: "sha256:abc" } } },
    "at '/controlPlane/image/digest': 'sha256:abc' does not match pattern",
  ],
  [
    { controlPlane: { logLevel: "trace" } },
    "at '/controlPlane/logLevel': value must be one of 'debug', 'info', 'warn', 'error'",
  ],
  [
    { controlPlane: { autoscaling: { minReplicas: 4, maxReplicas: 3 } } },
    "maxReplicas (3) is below minReplicas (4): raise the one or lower the other",
  ],
  [
    { migration: { secret: { name: "Not_A_Name" } } },
    "at '/migration/secret/name': 'Not_A_Name' does not match pattern",
  ],
  [
    { controlPlane: { otel: { OTEL_EXPORTER_OTLP_HEADERS: "authorization=x" } } },
    "at '/controlPlane/otel/OTEL_EXPORTER_OTLP_HEADERS': false schema",
  ],
  [{ pep: { mode: "observe" } }, "pep.mode: observe needs controlPlane.observeScopes"],
  [{ injector: { timeoutSeconds: 31 } }, "at '/injector/timeoutSeconds': maximum: got 31, want 30"],
  [{ pep: { mode: "observing" } }, "at '/pep/mode': value must be one of 'enforce', 'observe'"],
  [{ pep: { bindCapBytes: 786_433 } }, "at '/pep/bindCapBytes': maximum: got 786,433, want 786,432"],
  [{ pep: { redirectPorts: [80] } }, "pep.redirectPorts needs injector.redirectImage"],
  [{ pep: { redirectPorts: [0] } }, "at '/pep/redirectPorts/0': minimum: got 0, want 1"],
  [{ pep: { memoryLimit: "256 MB" } }, "at '/pep/memoryLimit': '256 MB' does not match pattern"],
  [{ pep: { memoryLimit: "256m" } }, "at '/pep/memoryLimit': '256m' does not match pattern"],
  [{ pep: { memoryLimit: "64Mi" } }, "pep.memoryLimit (64Mi) is below pep.memoryRequest (128Mi)"],
  [{ pep: { memoryLimit: "130M", memoryRequest: "128Mi" } }, "pep.memoryLimit (130M) is below pep.memoryRequest"],
  [{ pep: { cpuLimit: "0.1", cpuRequest: "200m" } }, "pep.cpuLimit (0.1) is below pep.cpuRequest (200m)"],
  [{ pep: { userId: 0 } }, "at '/pep/userId': minimum: got 0, want 1"],
  [{ pep: { agentName: "planner" } }, "at '/pep': additional properties 'agentName' not allowed"],
  [{ tls: { source: "certManager" } }, "at '/tls/certManager/issuerRef/name': minLength: got 0, want 1"],
  [{ tls: { source: "secret" } }, "at '/tls/secrets/controlPlane': minLength: got 0, want 1"],
  [{ tls: { source: "none" } }, "at '/tls/source': value must be one of 'generated', 'certManager', 'secret'"],
  [{ networkPolicy: { agents: [{ upstreams: [] }] } }, "at '/networkPolicy/agents/0': missing property 'namespace'"],
  [
    { networkPolicy: { controlPlane: { from: [{}] } } },
    "at '/networkPolicy/controlPlane/from/0': minProperties: got 0, want 1",
  ],
  [
    { monitoring: { rules: { enabled: "yes" } } },
    "at '/monitoring/rules/enabled': value must be one of 'auto', true, false",
  ],
];

test.each(refused)("%j is refused", async (values, message) => {
  const { code, stderr } = await helm(["template", "authz", chartFolder, ...renderArguments({ values })]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});

test("as a subchart, the parent's global values are accepted", async () => {
  const { code } = await helm([
    "template",
    "authz",
    chartFolder,
    ...renderArguments({ values: { global: { any: 1 } } }),
  ]);
  expect(code).toBe(0);
});

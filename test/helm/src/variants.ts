import type { Rendering } from "./render.ts";

const monitoringApis = ["ServiceMonitor", "PodMonitor", "PrometheusRule"].map(
  (kind) => `monitoring.coreos.com/v1/${kind}`,
);
const agents = [
  { namespace: "agents" },
  {
    namespace: "more-agents",
    podSelector: { matchLabels: { role: "agent" } },
    upstreams: [
      {
        to: [{ ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.1/32"] } }],
        ports: [{ port: 443, protocol: "TCP" }],
      },
    ],
  },
];
const pods = {
  podLabels: { team: "platform" },
  podAnnotations: { "example.com/note": "kept" },
  priorityClassName: "high",
  nodeSelector: { "kubernetes.io/arch": "amd64" },
  tolerations: [{ key: "dedicated", operator: "Equal", value: "authz", effect: "NoSchedule" }],
};

/** Variants of the chart's values: each switch on and off, each values file, everything at once. */
export const variants: Readonly<Record<string, Rendering>> = {
  defaults: {},
  staging: { files: ["values-staging.yaml"] },
  production: { files: ["values-production.yaml"], apis: monitoringApis },
  "own certificates": {
    values: {
      tls: {
        source: "secret",
        secrets: { controlPlane: "own-tls", injector: "own-injector-tls", injectorCa: "-----BEGIN CERTIFICATE-----\n" },
      },
    },
  },
  "cert-manager": { values: { tls: { source: "certManager", certManager: { issuerRef: { name: "ca" } } } } },
  "without the injector": { values: { injector: { enabled: false } } },
  "cert-manager without the injector": {
    files: ["values-production.yaml"],
    values: { injector: { enabled: false } },
  },
  "as little as possible": {
    kubeVersion: "1.29.0",
    values: {
      injector: { enabled: false },
      migration: { enabled: false },
      networkPolicy: { enabled: false },
      tests: { enabled: false },
      monitoring: { dashboards: { enabled: false } },
      controlPlane: { autoscaling: { enabled: false }, replicas: 1, disruptionBudget: { enabled: false } },
    },
  },
  "monitors on a cluster without their kinds": {
    values: {
      monitoring: {
        serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
        podMonitor: { enabled: true, labels: { release: "prometheus" } },
        rules: { enabled: true, labels: { release: "prometheus" } },
        dashboards: { annotations: { grafana_folder: "authorization" }, consoleUrl: "https://svc.example/console" },
      },
    },
  },
  "no monitors on a cluster with their kinds": {
    apis: monitoringApis,
    values: {
      monitoring: { serviceMonitor: { enabled: false }, podMonitor: { enabled: false }, rules: { enabled: false } },
    },
  },
  OpenShift: {
    values: { security: { userId: null, groupId: null }, pep: { userId: 1_000_660_001, groupId: 0 } },
  },
  everything: {
    apis: monitoringApis,
    values: {
      fullnameOverride: "authorization",
      image: { registry: "registry.example:5000", tag: "1.2.3", pullPolicy: "Always", pullSecrets: ["pull"] },
      controlPlane: {
        ...pods,
        image: { digest: `sha256:${"a".repeat(64)}` },
        workers: 2,
        databaseConnections: 10,
        issuer: "https://issuer.example",
        consentTtlByScope: ["payments-approval=60", "travel bookings=7200"],
        consentWebhook: "https://chat.example/hooks/consent",
        traceUrl: "https://traces.example/search?q={action_id}",
        sinks: {
          webhook: "https://siem.example/rows",
          webhookFormat: "ocsf",
          otlp: "https://collector.example:4318/v1/logs",
        },
        oauthResources: ["https://tools.example/", "https://bank.example/mcp"],
        observeScopes: ["expenses", "travel bookings"],
        identityRequired: true,
        identityProvider: { issuer: "https://idp.example", audience: "authz", clientId: "authz-console" },
        signals: { audience: "https://authz.example/signals", pollUrl: "https://idp.example/events" },
        consoleRoles: ["platform=audit", "cn=owners=admin"],
        consoleRolesClaim: "realm_access.roles",
        discoveryAllow: ["10.0.0.0/8", "tools.internal"],
        rateLimits: { perBearer: "600/60", perSession: "60/1" },
        logLevel: "debug",
        discloseIdentities: true,
        otel: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_TRACES_SAMPLER: "always_on" },
        service: { type: "LoadBalancer", annotations: { "example.com/internal": "true" } },
        secrets: {
          keys: {
            auditDatabaseUrl: "audit-database-url",
            issuerPrivateKey: "issuer.pem",
            discoveryCredentials: "discovery.json",
            identityProviderClientSecret: "idp-client-secret",
            enforcementToken: "enforcement-token",
            oauthClients: "oauth-clients.json",
            consentWebhookSecret: "consent-webhook-secret",
            signalsToken: "signals-token",
            signalsPollToken: "signals-poll-token",
            sinkWebhookSecret: "sink-webhook-secret",
            sinkWebhookAuthorization: "sink-webhook-authorization",
            sinkOtlpAuthorization: "sink-otlp-authorization",
          },
        },
        preStopSeconds: 0,
      },
      injector: {
        ...pods,
        replicas: 1,
        redirectImage: "registry.example/iptables:1",
        excludedNamespaces: ["cert-manager"],
      },
      pep: {
        mode: "observe",
        observeUndecided: "forward",
        observeUnlisted: "block",
        sessionSecret: "svc-session",
        bindCapBytes: 524288,
        graceSeconds: 40,
        upstreamTimeoutSeconds: 60,
        renewalIdleSeconds: 600,
        proxyEnv: true,
        nativeSidecar: false,
        redirectPorts: [80, 8080],
        quit: true,
        enforcementSecret: "svc-enforcement",
        publicUrl: "http://127.0.0.1:16001",
        userId: 1_000_660_001,
        groupId: 0,
        cpuLimit: "500m",
      },
      tls: { controlPlaneNames: ["authz.example.com", "*.authz.example.com"] },
      networkPolicy: { agents },
    },
  },
};

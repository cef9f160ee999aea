import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, spawnApp, waitUntil, writeCertificate } from "@svc/test-support";
import { Pool } from "undici";
import { aPod, creation } from "./pods.ts";

/** How long a review takes: one pod after the other over one TLS connection, as from the API server. Not a test. */
const warmUp = 500;
const reviews = 2_000;

const folder = mkdtempSync(join(tmpdir(), "svc-injector-"));
const { certFile, keyFile } = writeCertificate(folder, "first");
const port = await freePort();
const injector = spawnApp({
  main: "@svc/injector/main",
  env: {
    HOST: "127.0.0.1",
    PORT: String(port),
    SVC_INJECTOR_TLS_CERT_FILE: certFile,
    SVC_INJECTOR_TLS_KEY_FILE: keyFile,
    SVC_INJECTOR_PEP_IMAGE: "registry.example/svc-pep:1.2.3",
    SVC_CONTROL_PLANE_URL: "https://control-plane:8080",
  },
});
await waitUntil(
  "the injector to listen",
  () => injector.output().includes("listening") || injector.hasExited(),
  20_000,
);
const apiServer = new Pool(`https://127.0.0.1:${port}`, {
  connections: 1,
  connect: { ca: readFileSync(certFile), servername: "localhost" },
});

async function review(): Promise<number> {
  const request = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: creation(aPod()) };
  const body = JSON.stringify(request);
  const askedMs = performance.now();
  const answer = await apiServer.request({
    method: "POST",
    path: "/mutate",
    headers: { "content-type": "application/json" },
    body,
  });
  const { response } = (await answer.body.json()) as { response: { patch?: string } };
  if (response.patch === undefined) throw new Error("a pod was not patched: its review shows nothing");
  return performance.now() - askedMs;
}

try {
  for (let n = 0; n < warmUp; n++) await review();
  const times: number[] = [];
  for (let n = 0; n < reviews; n++) times.push(await review());
  times.sort((one, other) => one - other);
  const at = (share: number): string => `${times[Math.floor(share * (reviews - 1))]?.toFixed(2)} ms`;
  console.log(`${reviews} reviews: median ${at(0.5)}, 99th percentile ${at(0.99)}, slowest ${at(1)}`);
} finally {
  await apiServer.close();
  injector.kill();
  await injector.exited;
  rmSync(folder, { recursive: true });
}

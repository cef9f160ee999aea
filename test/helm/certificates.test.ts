import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FakeCluster, startFakeCluster } from "./src/fake-cluster.ts";
import { chartFolder, helm } from "./src/helm.ts";
import {
  type KubernetesObject,
  objectOf,
  objectsOf,
  type Rendering,
  releaseName,
  releaseNamespace,
  render,
  renderArguments,
} from "./src/render.ts";
import { variants } from "./src/variants.ts";

let cluster: FakeCluster;
beforeAll(async () => {
  cluster = await startFakeCluster();
});
afterAll(() => cluster.stop());

/** As an earlier install left it: helm only adopts objects with its release's labels. */
const owned = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: {
      ...object.metadata.annotations,
      "meta.helm.sh/release-name": releaseName,
      "meta.helm.sh/release-namespace": releaseNamespace,
    },
  },
});

/** An install or upgrade, given the cluster's present objects. */
async function upgrade(standing: readonly KubernetesObject[], rendering: Rendering = {}) {
  cluster.holds(standing.map(owned));
  const args = [
    "template",
    releaseName,
    chartFolder,
    "--dry-run=server",
    "--disable-openapi-validation",
    ...renderArguments(rendering),
  ];
  const { code, stdout, stderr } = await helm(args, cluster.env);
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  return objectsOf(stdout);
}

const secretsOf = (objects: readonly KubernetesObject[]) => objects.filter(({ kind }) => kind === "Secret");
const decoded = (base64: string) => Buffer.from(base64, "base64").toString("utf8");
const certificate = (objects: readonly KubernetesObject[], secret: string, key = "tls.crt") =>
  new X509Certificate(decoded(objectOf(objects, "Secret", secret).data[key]));
const configurations = (objects: readonly KubernetesObject[]) =>
  ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"].map((kind) => objectOf(objects, kind));
const webhooks = (objects: readonly KubernetesObject[]) =>
  configurations(objects).flatMap((configuration) => configuration.webhooks);

describe("generated certificates", () => {
  let installed: readonly KubernetesObject[];
  beforeAll(async () => {
    installed = await upgrade([]);
  });

  test("have the servers' names, one authority, and the configured lifetime", () => {
    const authority = certificate(installed, "authority");
    expect(authority.ca).toBe(true);
    for (const service of ["control-plane", "injector"]) {
      const served = certificate(installed, `${service}-tls`);
      const name = `authz-agent-authorization-service-${service}`;
      expect(served.subjectAltName?.split(", ")).toEqual(
        [name, `${name}.svc-system`, `${name}.svc-system.svc`, `${name}.svc-system.svc.cluster.local`].map(
          (host) => `DNS:${host}`,
        ),
      );
      expect([served.checkIssued(authority), served.verify(authority.publicKey), served.ca]).toEqual([
        true,
        true,
        false,
      ]);
      expect(certificate(installed, `${service}-tls`, "ca.crt").raw).toEqual(authority.raw);
      expect(Math.round((Date.parse(served.validTo) - Date.now()) / 86_400_000)).toBe(3650);
    }
  });

  test("have the authority of the webhooks' CA bundle", () => {
    for (const { clientConfig } of webhooks(installed)) {
      expect(new X509Certificate(decoded(clientConfig.caBundle)).raw).toEqual(certificate(installed, "authority").raw);
    }
  });

  test("stay the same at an upgrade, with the same CA bundle", async () => {
    const upgraded = await upgrade(secretsOf(installed));
    expect(secretsOf(upgraded)).toEqual(secretsOf(installed));
    expect(webhooks(upgraded)).toEqual(webhooks(installed));
  });

  test("are renewed for an added name, by the same authority", async () => {
    const upgraded = await upgrade(secretsOf(installed), {
      values: { tls: { controlPlaneNames: ["authz.example.com"] } },
    });
    expect(objectOf(upgraded, "Secret", "authority")).toEqual(objectOf(installed, "Secret", "authority"));
    expect(objectOf(upgraded, "Secret", "injector-tls")).toEqual(objectOf(installed, "Secret", "injector-tls"));
    const renewed = certificate(upgraded, "control-plane-tls");
    expect(renewed.subjectAltName).toContain("DNS:authz.example.com");
    expect(renewed.verify(certificate(installed, "authority").publicKey)).toBe(true);
  });

  test("are renewed after one was deleted, by the same authority", async () => {
    const upgraded = await upgrade([objectOf(installed, "Secret", "authority")]);
    const authority = certificate(installed, "authority");
    for (const service of ["control-plane-tls", "injector-tls"]) {
      expect(objectOf(upgraded, "Secret", service)).not.toEqual(objectOf(installed, "Secret", service));
      expect(certificate(upgraded, service).verify(authority.publicKey)).toBe(true);
    }
  });

  test("are all new after the authority was deleted", async () => {
    const kept = secretsOf(installed).filter(({ metadata }) => !metadata.name.endsWith("authority"));
    const upgraded = await upgrade(kept);
    const authority = certificate(upgraded, "authority");
    for (const service of ["control-plane-tls", "injector-tls"]) {
      expect(certificate(upgraded, service).verify(authority.publicKey)).toBe(true);
    }
    for (const { clientConfig } of webhooks(upgraded)) {
      expect(new X509Certificate(decoded(clientConfig.caBundle)).raw).toEqual(authority.raw);
    }
  });
});

test("with cert-manager both are requested for the servers' names, and it injects the CA bundle", async () => {
  const objects = await render(variants.production);
  for (const service of ["control-plane", "injector"]) {
    const { spec } = objectOf(objects, "Certificate", service);
    const [volume] = objectOf(objects, "Deployment", service).spec.template.spec.volumes.filter(
      ({ name }: { name: string }) => name === "tls",
    );
    expect(spec.secretName).toBe(volume.secret.secretName);
    expect(spec.dnsNames).toContain(`authz-agent-authorization-service-${service}.svc-system.svc`);
    expect(spec.issuerRef).toEqual({ name: "internal-authority", kind: "ClusterIssuer", group: "cert-manager.io" });
  }
  for (const { metadata } of configurations(objects)) {
    expect(metadata.annotations).toEqual({
      "cert-manager.io/inject-ca-from": `svc-system/${objectOf(objects, "Certificate", "injector").metadata.name}`,
    });
  }
  expect(secretsOf(objects)).toEqual([]);
  for (const { clientConfig } of webhooks(objects)) expect(clientConfig).not.toHaveProperty("caBundle");
});

test("own certificates are used, and none is generated", async () => {
  const objects = await render(variants["own certificates"]);
  expect(objects.filter(({ kind }) => kind === "Secret" || kind === "Certificate")).toEqual([]);
  for (const { clientConfig } of webhooks(objects)) expect(decoded(clientConfig.caBundle)).toMatch(/^-----BEGIN/);
  const volumes = ["control-plane", "injector"].map(
    (name) => objectOf(objects, "Deployment", name).spec.template.spec.volumes,
  );
  expect(JSON.stringify(volumes)).toMatch(/"own-tls".*"own-injector-tls"/);
});

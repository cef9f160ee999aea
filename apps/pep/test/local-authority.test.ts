import { execFileSync } from "node:child_process";
import { type webcrypto, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requires } from "@svc/test-support";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAuthority } from "../src/local/authority.ts";
import { configFrom, startedPep } from "./support/pep.ts";
import { securedTunnel } from "./support/tunnel-client.ts";

const bank = { name: "bank", url: "https://127.0.0.1:9", hosts: ["bank.example"], routes: [] };
const settings = (folder: string) => ({ SVC_PEP_TLS_CA_FILE: join(folder, "local-ca.pem") });

describe("the local certificate authority", () => {
  test("is made anew at each start, and writes its certificate and nothing else", async () => {
    const first = await startedPep({ upstreams: [bank], settings });
    const file = join(first.folder, "local-ca.pem");
    const pem = readFileSync(file, "utf8");
    await startedPep({ upstreams: [bank], settings, after: first });
    expect(pem.match(/-----BEGIN [A-Z ]+-----/g)).toEqual(["-----BEGIN CERTIFICATE-----"]);
    const [before, after] = [new X509Certificate(pem), new X509Certificate(readFileSync(file))];
    expect(before.ca).toBe(true);
    expect(before.publicKey.equals(after.publicKey)).toBe(false);
  });

  test("has a key that cannot be exported", async () => {
    const generated = vi.spyOn(crypto.subtle, "generateKey");
    onTestFinished(() => generated.mockRestore());
    const { certificate } = await createAuthority(Date.now());
    const own = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
    const pairs = (await Promise.all(generated.mock.results.map(({ value }) => value))) as webcrypto.CryptoKeyPair[];
    const isOwn = async ({ publicKey }: webcrypto.CryptoKeyPair) =>
      own.equals(Buffer.from(await crypto.subtle.exportKey("spki", publicKey)));
    const owners = await Promise.all(pairs.map(isOwn));
    expect(owners.filter(Boolean)).toHaveLength(1);
    for (const [at, { privateKey }] of pairs.entries()) expect(privateKey.extractable).toBe(!owners[at]);
  });

  test("issues for the host of the tunnel alone, and once", async () => {
    const running = await startedPep({ upstreams: [bank], settings });
    const ca = readFileSync(join(running.folder, "local-ca.pem"), "utf8");
    const serials = [];
    for (const _time of [1, 2]) {
      const {
        subjectaltname,
        serialNumber,
        ext_key_usage: usages,
      } = (await securedTunnel(running.port, "bank.example:443", { ca })).getPeerCertificate();
      expect([subjectaltname, usages]).toEqual(["DNS:bank.example", ["1.3.6.1.5.5.7.3.1"]]);
      serials.push(serialNumber);
    }
    expect(new Set(serials).size).toBe(1);
  });

  test("keeps 256 certificates, the latest used ones", async () => {
    const { contextFor } = await createAuthority(Date.now());
    const first = contextFor("first.example");
    const second = contextFor("second.example");
    for (let at = 0; at < 255; at++) {
      await contextFor(`${at}.example`);
      expect(contextFor("first.example")).toBe(first);
    }
    expect(contextFor("second.example")).not.toBe(second);
  });

  requires("openssl").test("and its certificates pass the strict checks of RFC 5280", async () => {
    const running = await startedPep({ upstreams: [bank], settings });
    const folder = mkdtempSync(join(tmpdir(), "pep-strict-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const caFile = join(running.folder, "local-ca.pem");
    const secured = await securedTunnel(running.port, "bank.example:443", { ca: readFileSync(caFile, "utf8") });
    const leaf = join(folder, "leaf.pem");
    writeFileSync(leaf, secured.getPeerX509Certificate()?.toString() ?? "");
    const strict = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "bank.example"];
    expect(execFileSync("openssl", [...strict, "-CAfile", caFile, leaf], { encoding: "utf8" })).toContain(": OK");
  });

  test("stops the start where its certificate cannot be written", async () => {
    const starting = startedPep({ upstreams: [], settings: () => ({ SVC_PEP_TLS_CA_FILE: "/no/such/folder/ca.pem" }) });
    await expect(starting).rejects.toThrow(/SVC_PEP_TLS_CA_FILE must name a file.*ENOENT/);
    expect(existsSync("/no/such/folder")).toBe(false);
  });
});

describe("what is for one machine alone stops the start elsewhere", () => {
  const least = { SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9", SVC_PEP_CONFIG: "/pep.yaml", SVC_TELEMETRY_KEY: "k" };
  const local = [{ SVC_PEP_TLS_CA_FILE: "/ca.pem" }, { SVC_PEP_OTHER_HOSTS: "tunnel" }];
  const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };

  test.each(local)("%j", (setting) => {
    expect(() => configFrom({ ...least, ...setting })).not.toThrow();
    expect(() => configFrom({ ...least, ...setting, SVC_PEP_LISTEN: "0.0.0.0:16001" })).toThrow(/loopback/);
    expect(() => configFrom({ ...least, ...setting, ...pod })).toThrow(/Kubernetes/);
    expect(() => configFrom({ ...least, ...setting, ...pod, SVC_DEV: "true" })).not.toThrow();
  });
});

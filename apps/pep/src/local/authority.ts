import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate authority of this process alone: its private key cannot be exported, and ends with the process. */
export interface Authority {
  /** PEM, public. */
  readonly certificate: string;
  /** TLS of a server that this name or address reaches. Cached. */
  contextFor(host: string): Promise<SecureContext>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** Of both, since neither outlives the process; clients refuse server certificates of more than 398 days. */
const lifetimeMs = 397 * 86_400_000;
/** For clients whose clock is behind. */
const backdatedMs = 3_600_000;
/** Some 10 KiB each. */
const maxContexts = 256;

/** @param now milliseconds since the epoch */
export async function createAuthority(now: number): Promise<Authority> {
  const validity = { notBefore: new Date(now - backdatedMs), notAfter: new Date(now + lifetimeMs) };
  const keys = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  const name = `CN=Agent Authorization Service on this machine, OU=${crypto.randomUUID()}`;
  const own = await X509CertificateGenerator.createSelfSigned({
    name,
    ...validity,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  // One key for all hosts: a program that reads it from memory can read every other one too.
  const leaf = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const key = pemOf("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", leaf.privateKey));
  const extensions = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    await SubjectKeyIdentifierExtension.create(leaf.publicKey),
    await AuthorityKeyIdentifierExtension.create(keys.publicKey),
  ];
  const issue = async (host: string): Promise<SecureContext> => {
    const issued = await X509CertificateGenerator.create({
      subject: "CN=Agent Authorization Service",
      issuer: own.subject,
      ...validity,
      signingAlgorithm: algorithm,
      publicKey: leaf.publicKey,
      signingKey: keys.privateKey,
      extensions: [...extensions, new SubjectAlternativeNameExtension([subjectOf(host)])],
    });
    return createSecureContext({ cert: issued.toString("pem"), key });
  };
  const contexts = new Map<string, Promise<SecureContext>>();
  return {
    certificate: new X509Certificate(Buffer.from(own.rawData)).toString(),
    contextFor(host) {
      const context = contexts.get(host) ?? issue(host);
      // The least recently used comes first.
      contexts.delete(host);
      contexts.set(host, context);
      const [oldest = ""] = contexts.keys();
      if (contexts.size > maxContexts) contexts.delete(oldest);
      return context;
    },
  };
}

function subjectOf(host: string) {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return isIP(address) === 0 ? ({ type: "dns", value: host } as const) : ({ type: "ip", value: address } as const);
}

function pemOf(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

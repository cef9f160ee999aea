import "reflect-metadata";
import {
  BasicConstraintsExtension,
  type JsonGeneralNames,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** PEM texts. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface Leaf {
  readonly names?: JsonGeneralNames;
  /** Days from now. */
  readonly from?: number;
  readonly to?: number;
}

export interface Authority {
  readonly ca: string;
  issue(leaf?: Leaf): Promise<Identity>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000);
const here: JsonGeneralNames = [
  { type: "ip", value: "127.0.0.1" },
  { type: "dns", value: "localhost" },
];

/** A certificate authority of this test's own. */
export async function anAuthority(name = "CN=Authority of a test"): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const own = await X509CertificateGenerator.createSelfSigned({
    name,
    notBefore: daysFromNow(-9),
    notAfter: daysFromNow(9),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new BasicConstraintsExtension(true, 1, true)],
  });
  return {
    ca: own.toString("pem"),
    async issue({ names = here, from = -1, to = 1 } = {}) {
      const leaf = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const cert = await X509CertificateGenerator.create({
        subject: "CN=Leaf of a test",
        issuer: own.subject,
        notBefore: daysFromNow(from),
        notAfter: daysFromNow(to),
        signingAlgorithm: algorithm,
        publicKey: leaf.publicKey,
        signingKey: keys.privateKey,
        extensions: [new SubjectAlternativeNameExtension(names)],
      });
      return { cert: cert.toString("pem"), key: await pemOf(leaf.privateKey) };
    },
  };
}

async function pemOf(key: CryptoKey): Promise<string> {
  const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.match(/.{1,64}/g)?.join("\n")}\n-----END PRIVATE KEY-----\n`;
}

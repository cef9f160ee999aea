import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import type { Environment } from "@svc/host";
import { javaTrustStore } from "./java-trust-store.ts";

/** What these name is trusted beside the program's own roots. */
const adding = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"] as const;
/** What these name is trusted in place of the program's own roots. OpenSSL's is read by Python, Ruby, Go and more. */
const replacing = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"] as const;

/** How a command trusts a certificate authority beside those that it trusted before. */
export interface Trust {
  readonly variables: Readonly<Record<string, string>>;
  /** Of the type JKS. */
  readonly javaTrustStore: string;
}

/** Writes the files that the variables name. @param authority PEM @param environment of the command, as it was */
export async function trustIn(folder: string, authority: string, environment: Environment): Promise<Trust> {
  const write = async (name: string, content: string | Buffer) => {
    const file = join(folder, name);
    await writeFile(file, content);
    return file;
  };
  const roots = await readNamed(environment.SSL_CERT_FILE, systemRoots);
  const bundle = await write("ca-bundle.pem", joined(roots, authority));
  const variable = async (name: string, own: () => string) => {
    const named = environment[name];
    if (named === undefined && own === rootsOf) return [name, bundle] as const;
    return [name, await write(`${name.toLowerCase()}.pem`, joined(await readNamed(named, own), authority))] as const;
  };
  const rootsOf = () => roots;
  const variables = await Promise.all([
    ...adding.map((name) => variable(name, () => "")),
    ...replacing.map((name) => variable(name, rootsOf)),
  ]);
  const store = javaTrustStore(certificatesIn(joined(roots, authority)), Date.now());
  return { variables: Object.fromEntries(variables), javaTrustStore: await write("java-trust.jks", store) };
}

/** What a variable of the operator names; the program itself would report one that cannot be read. */
async function readNamed(file: string | undefined, otherwise: () => string): Promise<string> {
  if (file === undefined || file === "") return otherwise();
  return readFile(file, "utf8").catch(otherwise);
}

/** Of the operating system, and of Mozilla: programs bring the one or the other. */
const systemRoots = (): string =>
  [...new Set([...getCACertificates("system"), ...getCACertificates("bundled")])].map((pem) => pem.trim()).join("\n");

const joined = (...pems: readonly string[]): string =>
  pems.flatMap((pem) => (pem.trim() === "" ? [] : [`${pem.trim()}\n`])).join("");

const certificatesIn = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];

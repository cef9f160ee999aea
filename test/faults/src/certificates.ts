import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A key and its certificate; PEM each. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  readonly cert: string;
  /** A new key for this machine's loopback address, certified. */
  issue(): Certified;
}

const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj".split(" ");

export function createAuthority(name: string): Authority {
  const own = openssl([`/CN=${name}`]);
  return {
    cert: own.cert,
    issue: () => openssl(["/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], own),
  };
}

/** @param issuer signs it; self-signed without */
function openssl(subject: readonly string[], issuer?: Certified): Certified {
  const folder = mkdtempSync(join(tmpdir(), "svc-faults-certificate-"));
  const file = (name: string) => join(folder, name);
  try {
    const from = issuer === undefined ? [] : ["-CA", file("ca.cert"), "-CAkey", file("ca.key")];
    if (issuer !== undefined) {
      writeFileSync(file("ca.cert"), issuer.cert);
      writeFileSync(file("ca.key"), issuer.key);
    }
    execFileSync("openssl", [...request, ...subject, ...from, "-keyout", file("key"), "-out", file("cert")], {
      stdio: "ignore",
    });
    return { cert: readFileSync(file("cert"), "utf8"), key: readFileSync(file("key"), "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

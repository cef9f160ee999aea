import { execFileSync } from "node:child_process";
import { join } from "node:path";

/**
 * Makes `tls.crt` and `tls.key` in the folder, signed by itself.
 * @param names in openssl's form
 */
export function writeCertificate(
  folder: string,
  commonName: string,
  names = "DNS:localhost",
): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  execFileSync(
    "openssl",
    [
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1".split(" "),
      ...["-subj", `/CN=${commonName}`, "-addext", `subjectAltName=${names}`],
      ...["-keyout", keyFile, "-out", certFile],
    ],
    { stdio: "ignore" },
  );
  return { certFile, keyFile };
}

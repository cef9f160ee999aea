import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { UpstreamTls } from "./upstream.ts";

/** Why this material cannot be used. Without OpenSSL's own message, which may quote it. */
export function tlsFault({ ca, cert, key }: UpstreamTls): string | undefined {
  // A text without a certificate would count as no authority at all, and every call would fail.
  if (ca !== undefined && !isCertificate(ca)) return "ca_file must hold certificates as PEM";
  if (cert === undefined || key === undefined) return undefined;
  if (!isCertificate(cert)) return "cert_file must hold a certificate as PEM";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch {
    return "key_file must hold, as PEM, the private key of the certificate in cert_file";
  }
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}

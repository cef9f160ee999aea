import { createHash, X509Certificate } from "node:crypto";

const magic = 0xfeedfeed;
const version = 2;
const trustedCertificate = 2;
/** The format's own constant. */
const salt = "Mighty Aphrodite";
const password = "changeit";

/**
 * A trust store of the type JKS, which every JDK reads, and which no `keytool` has to be started for. Java takes one store
 * and no file of PEM texts.
 * @param certificates PEM @param now milliseconds since the epoch
 */
export function javaTrustStore(certificates: readonly string[], now: number): Buffer {
  const head = Buffer.concat([uint32(magic), uint32(version), uint32(certificates.length)]);
  const entries = certificates.map((pem, at) => {
    const { raw } = new X509Certificate(pem);
    const parts = [
      uint32(trustedCertificate),
      text(`trusted-${at}`),
      uint64(now),
      text("X.509"),
      uint32(raw.length),
      raw,
    ];
    return Buffer.concat(parts);
  });
  const content = Buffer.concat([head, ...entries]);
  const passwordBytes = Buffer.from(password, "utf16le").swap16();
  const digest = createHash("sha1").update(passwordBytes).update(salt).update(content).digest();
  return Buffer.concat([content, digest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** Java's `writeUTF`, for ASCII. */
function text(ascii: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(ascii.length);
  return Buffer.concat([length, Buffer.from(ascii, "ascii")]);
}

import { createHmac, timingSafeEqual } from "node:crypto";
import { sha256Base64url } from "@svc/tokens";

/** Marks what this service stored, so that a row which something else wrote has no authority when it is read back. */
export interface Authenticity {
  /** base64url(HMAC-SHA-256) over the JSON array of the parts. */
  mac(parts: MarkedParts): string;
  holds(mac: string | null, parts: MarkedParts): boolean;
}

/** The kind first, so that no mark of one kind is accepted for another. */
export type MarkedParts = readonly [
  kind: "seal" | "policy" | "manifest" | "origin" | "fact" | "definitions",
  ...values: readonly (string | number)[],
];

/** @param key 32 bytes, for this use alone */
export function authenticity(key: Uint8Array): Authenticity {
  const digest = (parts: MarkedParts): Buffer => createHmac("sha256", key).update(JSON.stringify(parts)).digest();
  return {
    mac: (parts) => digest(parts).toString("base64url"),
    holds(mac, parts) {
      const given = Buffer.from(mac ?? "", "base64url");
      const expected = digest(parts);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

/** A row that was read, and its hash in the list of what was there before marks. */
export interface Marked {
  readonly mac: string | null;
  readonly listedHash: string | null;
}

/** @param text what the list has the hash of */
export const isProven = (marks: Authenticity, { mac, listedHash }: Marked, parts: MarkedParts, text: string): boolean =>
  marks.holds(mac, parts) || (listedHash !== null && listedHash === sha256Base64url(text));

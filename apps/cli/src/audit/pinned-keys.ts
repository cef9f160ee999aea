import { readFile } from "node:fs/promises";
import { importJwks, KeyRefused, type VerificationKey } from "@svc/tokens";
import { type Fault, notTried } from "../fault.ts";

/** The auditor's trusted keys, from a JWKS (RFC 7517 section 5) in a file or at an address. */
export async function pinnedKeys(place: string): Promise<ReadonlyMap<string, VerificationKey>> {
  const document = /^https?:/.test(place) ? await fetched(place) : await read(place);
  const keys = await importJwks(document).catch((cause: unknown) => {
    if (cause instanceof KeyRefused) throw noKeySet(place, cause);
    throw cause;
  });
  if (keys.size === 0) throw noKeySet(place);
  return keys;
}

async function fetched(url: string): Promise<unknown> {
  const response = await fetch(url, { redirect: "manual" }).catch((cause: unknown) => {
    throw notTried(`${url} cannot be reached`, "Check --jwks, or give it a copy of the key set in a file.", cause);
  });
  if (response.status !== 200) {
    throw notTried(`${url} returned HTTP ${response.status}`, "Check --jwks: /.well-known/jwks.json of the issuer.");
  }
  return response.json().catch((cause: unknown) => {
    throw noKeySet(url, cause);
  });
}

async function read(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw notTried(`${path} cannot be read`, "Check --jwks.", cause);
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noKeySet(path, cause);
  }
}

const noKeySet = (place: string, cause?: unknown): Fault =>
  notTried(`${place} is no key set`, "Give --jwks a JWKS: the issuer's /.well-known/jwks.json.", cause);

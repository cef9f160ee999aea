import { z } from "zod";
import { decoded, isBlank, isSoundPath, segmentsOf } from "./sound-path.ts";

/** Scheme and authority of a URI, which are compared as they are written. */
const headPattern = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i;
const headOf = (text: string): string => headPattern.exec(text)?.[0] ?? "";

/** A path, or an absolute URI, that others are below. */
export const pathPrefix = z
  .string()
  .min(1)
  .refine(
    (text) => !text.includes("%") && leadsDown(text.slice(headOf(text).length)),
    "must be a path or URI without percent signs, backslashes, and empty, dot or blank segments",
  );

/** Whole segments: `/docs` has `/docs` and `/docs/a` below it, and not `/docs2`. */
export function isBelow(prefix: string): (text: string) => boolean {
  const base = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  const headLength = headOf(prefix).length;
  return (text) => (text === base || text.startsWith(`${base}/`)) && leadsDown(text.slice(headLength));
}

/** In each reading: as it is written, decoded, and in Unicode's compatibility form. */
function leadsDown(path: string): boolean {
  if (path === "") return true;
  if (!isSoundPath(path)) return false;
  const reading = (decoded(path) ?? path).normalize("NFKC");
  return isSoundPath(encodedPercent(reading)) && !segmentsOf(`/${reading}`).some(isBlank);
}

const encodedPercent = (text: string): string => text.replaceAll("%", "%25");

import { ApiError, invalidRequest } from "./api-error.ts";

/** The path as it was sent, undecoded. */
export function rawPath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start === -1 ? "/" : url.slice(start).split(/[?#]/, 1)[0] || "/";
}

export const routeNotFound = (): ApiError => new ApiError("route_not_found", "There is no such route.");

const controlCharacter = /\p{Cc}/u;

/**
 * Refuses a path that two readers could take for different ones: encoding that is malformed or not UTF-8, control
 * characters, dot segments. What passes decodes exactly once, segment by segment
 * (docs/reference/conventions.md#scopes-in-a-path).
 */
export function requirePlainPath(url: string): void {
  const path = rawPath(url);
  if (!path.includes("%")) return;
  const segments = path.split("/").map(decodeSegment);
  if (segments.some((segment) => segment === undefined || controlCharacter.test(segment))) {
    throw invalidRequest("The path is not percent-encoded UTF-8 without control characters.");
  }
  if (segments.some((segment) => segment === "." || segment === "..")) throw routeNotFound();
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

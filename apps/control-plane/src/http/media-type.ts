/** Whether a `Content-Type` is this type with, at most, a charset that says UTF-8 (RFC 9110 section 8.3.1). */
export function isMediaType(header: string | null, type: string): boolean {
  const [essence = "", ...parameters] = (header ?? "").split(";").map((part) => part.trim().toLowerCase());
  if (essence !== type) return false;
  return parameters.length === 0 || (parameters.length === 1 && /^charset="?utf-?8"?$/.test(parameters[0] ?? ""));
}

/** Whether a body is sent as it is: nobody here unpacks, since little that is sent may be much that is read. */
export const isUncoded = (contentEncoding: string | null): boolean =>
  contentEncoding === null || contentEncoding.trim().toLowerCase() === "identity";

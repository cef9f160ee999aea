/** Whether a `Content-Type` is this type with, at most, a charset that says UTF-8 (RFC 9110 section 8.3.1). */
export function isMediaType(header: string | null, type: string): boolean {
  const [essence = "", ...parameters] = (header ?? "").split(";").map((part) => part.trim().toLowerCase());
  if (essence !== type) return false;
  return parameters.length === 0 || (parameters.length === 1 && /^charset="?utf-?8"?$/.test(parameters[0] ?? ""));
}

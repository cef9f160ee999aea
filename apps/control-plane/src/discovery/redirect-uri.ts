/** A fragment would be lost (RFC 6749 section 3.1.2), and a script would run here. */
export function isRedirectUri(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes("#") || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  if (url.protocol === "http:") return isLoopbackHost(url.hostname);
  // An application's own scheme is a reversed domain name (RFC 8252 section 7.1).
  return url.protocol.includes(".");
}

export const isLoopbackHost = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

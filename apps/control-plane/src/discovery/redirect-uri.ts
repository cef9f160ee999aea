/** Schemes whose addresses a browser would run, read or connect to by itself. */
const browsersOwn =
  /^(?:javascript|data|vbscript|blob|file|filesystem|about|view-source|ftp|wss?|intent|content|chrome[a-z-]*):$/;

/**
 * Where an answer may be sent: https, http on loopback, or an application's own scheme (RFC 8252 section 7.1, which many
 * applications do not spell as a reversed domain name). A fragment would be lost (RFC 6749 section 3.1.2).
 */
export function isRedirectUri(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes("#") || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "http:") return isLoopbackHost(url.hostname);
  return !browsersOwn.test(url.protocol);
}

export const isLoopbackHost = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

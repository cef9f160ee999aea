/** What a program needs to find itself, its user's home, a folder for temporary files and the authorities that it trusts. */
const passed = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"],
  // Paths of certificates that are public: behind a proxy that ends TLS, nothing can be downloaded without.
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"],
  // Windows.
  ...["SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"],
]);

const isPassed = (name: string): boolean => passed.has(name.toUpperCase()) || /^LC_[A-Z]+$/.test(name);

/** The whole environment of an MCP server that is started as a program: no setting and no credential of this process. */
export const bareEnvironment = (
  own: NodeJS.ProcessEnv,
  configured: Readonly<Record<string, string>>,
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) => (isPassed(name) && value ? [[name, value]] : [])),
  ),
  ...configured,
});

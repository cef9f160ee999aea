/** What a program needs to find itself, its user's home and a folder for temporary files, in the user's language. */
const passed = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"],
  // Windows.
  ...["SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"],
]);

const isPassed = (name: string): boolean => passed.has(name.toUpperCase()) || /^LC_[A-Z]+$/.test(name);

/** The whole environment of a server's process: none of our settings and no credential of this process. */
export const childEnvironment = (
  own: NodeJS.ProcessEnv,
  configured: Readonly<Record<string, string>>,
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) => (isPassed(name) && value ? [[name, value]] : [])),
  ),
  ...configured,
});

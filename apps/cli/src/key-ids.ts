/** A thumbprint (RFC 7638): base64url, so one of sixty-four begins as an option does. */
const dashedKeyId = /^-[A-Za-z0-9_-]{42}$/;

/** The same command line, where an id that looks like an option is taken for what it is. */
export function shieldKeyIds(args: readonly string[]): readonly string[] {
  const ids = args[0] === "keys" && !args.includes("--") ? args.filter((arg) => dashedKeyId.test(arg)) : [];
  return ids.length === 0 ? args : [...args.filter((arg) => !ids.includes(arg)), "--", ...ids];
}

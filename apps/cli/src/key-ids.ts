/** A thumbprint (RFC 7638) is base64url: one in 64 begins with a dash, like an option. */
const dashedKeyId = /^-[A-Za-z0-9_-]{42}$/;

/** The command line with such ids after `--`. */
export function shieldKeyIds(args: readonly string[]): readonly string[] {
  const ids = args[0] === "keys" && !args.includes("--") ? args.filter((arg) => dashedKeyId.test(arg)) : [];
  return ids.length === 0 ? args : [...args.filter((arg) => !ids.includes(arg)), "--", ...ids];
}

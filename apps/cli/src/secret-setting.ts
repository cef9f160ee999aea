import { closeSync, readFileSync } from "node:fs";
import { notTried } from "./fault.ts";

/** Read once: a file may be a pipe. */
const known = new Map<string, string | undefined>();

/** From now on this is the setting, whatever the environment holds. */
export const setSecret = (name: string, text: string | undefined): void => void known.set(name, text);

/** The text of a setting, or of the file that `<NAME>_FILE` names; undefined where neither is set. @throws {Fault} */
export function secretSetting(name: string): string | undefined {
  if (!known.has(name)) known.set(name, read(name));
  return known.get(name);
}

function read(name: string): string | undefined {
  const direct = process.env[name] || undefined;
  const file = process.env[`${name}_FILE`] || undefined;
  if (file === undefined) return direct;
  if (direct !== undefined) throw notTried(`${name} is given twice`, `Unset ${name} or ${name}_FILE.`);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw notTried(`the file that ${name}_FILE names cannot be read`, "Check its path and permissions.", cause);
  } finally {
    closeInherited(file);
  }
}

/** An open file from the shell would be inherited by child processes, which could read it again. */
function closeInherited(file: string): void {
  const [, fd = "0"] = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(file) ?? [];
  if (Number(fd) <= 2) return;
  try {
    closeSync(Number(fd));
  } catch {
    // It was never open, and the read has failed.
  }
}

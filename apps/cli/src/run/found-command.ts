import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { notTried } from "../fault.ts";

/** The system itself resolves the name where the command is started. @throws {Fault} where nothing can be started */
export function requireCommand(file: string, path = process.env.PATH ?? ""): void {
  // Windows looks for several endings.
  if (process.platform === "win32") return;
  const places = file.includes("/") ? [file] : path.split(delimiter).map((folder) => join(folder || ".", file));
  if (places.some(isProgram)) return;
  throw notTried(`${file} cannot be run`, "Check the command after --: its path, and that it is executable.");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

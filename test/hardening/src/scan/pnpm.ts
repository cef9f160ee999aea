import { execFile } from "node:child_process";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
export type RunPnpm = (args: readonly string[]) => Promise<Ran>;

/** The pnpm that runs this script, in a folder; any exit code is a result. */
export const pnpmIn =
  (folder: string): RunPnpm =>
  (args) =>
    new Promise((resolve) => {
      const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 120_000 };
      execFile("pnpm", [...args], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr: error !== null && stderr === "" ? error.message : stderr });
      });
    });

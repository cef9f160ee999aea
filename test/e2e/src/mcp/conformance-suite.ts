import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "@svc/test-support";

export type Outcomes = Readonly<Record<string, readonly string[]>>;

/** Runs the official suite against a server: by scenario, what each check of it came to and why. */
export async function suiteAgainst(url: string): Promise<Outcomes> {
  const folder = mkdtempSync(join(tmpdir(), "svc-mcp-conformance-"));
  try {
    const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
    const args = [program, "server", "--url", url, "--suite", "all", "-o", folder];
    await startChild(process.execPath, args, { env: { PATH: process.env.PATH } }).exited;
    return Object.fromEntries(
      readdirSync(folder).map((name) => [
        name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, "$1"),
        (JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[])
          .map(({ id, status }) => `${id}: ${status}`)
          .sort(),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Check {
  readonly id: string;
  readonly status: string;
}

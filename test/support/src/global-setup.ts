import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { compiledVariable } from "./compiled.ts";

const projectsWithDatabase = ["control-plane", "cli", "conformance", "e2e", "browser", "helm", "images", "examples"];

const workspace = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Compiles changed sources for the apps that tests start, and starts one database server, with a migrated database to
 * copy, for projects that need it.
 */
export async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  execFileSync(`${workspace}node_modules/.bin/tsc`, ["-b"], { cwd: workspace, stdio: "inherit" });
  // The apps that `spawnApp` starts find there what Node compiled at earlier starts.
  process.env[compiledVariable] = `${workspace}node_modules/.cache/compiled`;
  if (!vitest.projects.some(({ name }) => projectsWithDatabase.includes(name))) return undefined;
  // It imports compiled code.
  const { migratedTemplate, sharedServerVariable, startPostgres } = await import("./postgres.ts");
  const { stop, ...urls } = await startPostgres();
  const { template, drop } = await migratedTemplate(urls);
  process.env[sharedServerVariable] = JSON.stringify({ ...urls, template });
  return async () => {
    await drop();
    await stop();
  };
}

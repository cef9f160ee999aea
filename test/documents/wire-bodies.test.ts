import { expect, test } from "vitest";
import { filesLike, read } from "./src/tree.ts";

/**
 * Bodies and queries are schemas of `packages/core/src/wire`: these folders use them, and define none. What `svc init`
 * reads is another party's.
 */
const readers = filesLike("{packages/{client,console},apps/control-plane,apps/cli}/src/**/*.ts").filter((file) =>
  /^packages\/|\/src\/routes\/|^apps\/cli\/src\/(?!audit\/|init\/)/.test(file),
);

/** A value import of zod: a type import makes no schema. */
const makesSchemas = (source: string): boolean => /^import (?!type\b)[^;]*\bfrom "zod"/m.test(source);

/**
 * The CLI calls the control plane by the client; these read a key set's address, time its calls, read an enforcement
 * point, and a manifest's sources.
 */
const fetching = [
  "apps/cli/src/audit/pinned-keys.ts",
  "apps/cli/src/control-plane.ts",
  "apps/cli/src/manifest/advertised.ts",
  "apps/cli/src/run/passed-calls.ts",
  "apps/cli/src/upstreams/read-suggestions.ts",
];

test("no route, plane, page or command defines its own schema", () => {
  expect(readers.length).toBeGreaterThan(80);
  expect(readers.filter((file) => makesSchemas(read(file)))).toEqual([]);
});

test("no command sends HTTP requests past the client", () => {
  const sources = readers.filter((file) => file.startsWith("apps/cli/"));
  expect(sources.filter((file) => !fetching.includes(file) && /\bfetch\(|from "undici"/.test(read(file)))).toEqual([]);
});

test.each([
  ['import { z } from "zod";', true],
  ['import { type CamelCased } from "@svc/core";\nimport * as z from "zod";', true],
  ['import type { z } from "zod";', false],
])("a schema is seen by its import: %j", (source, made) => expect(makesSchemas(source)).toBe(made));

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { examplePrograms, pepProgram, providerProgram } from "../src/stack/programs.ts";

/** Every secret setting of the control plane, by its generated table. */
const readme = readFileSync(new URL("../../control-plane/README.md", import.meta.url), "utf8");
const secretNames = [...readme.matchAll(/^\| `(\w+)` or `\1_FILE`/gm)].map(([, name = ""]) => name);
/** The enforcement point's too. */
const shared = "SVC_TELEMETRY_KEY";

const planted = ["PGPASSWORD", "SVC_SECRET_OF_A_LATER_RELEASE", ...secretNames]
  .filter((name) => name !== shared)
  .flatMap((name) => [name, `${name}_FILE`]);
const ports = { controlPlane: 1, pep: 2, pepAdmin: 3, exampleMcp: 4, exampleHttp: 5, openidProvider: 6 };
const parts = {
  environment: { PATH: "/bin", SVC_PEP_QUIT: "true", ...Object.fromEntries(planted.map((name) => [name, "planted"])) },
  ports,
  dataDir: "/",
  bearers: { admin: "planted", audit: "planted", identity: "planted", enforcement: "of both" },
  telemetryKey: "of both",
  databaseUrl: "planted",
  redisUrl: "planted",
  mode: undefined,
  pepConfig: "pep.yaml",
  hasProvider: true,
};

test.each([pepProgram(parts), providerProgram(parts), ...examplePrograms(parts)])(
  "the $name of a stack gets no secret of the control plane",
  ({ env }) => {
    expect(secretNames).toEqual(expect.arrayContaining(["SVC_ADMIN_TOKEN", "DATABASE_URL"]));
    expect(Object.entries(env).filter(([name, value]) => planted.includes(name) || value === "planted")).toEqual([]);
  },
);

test("the enforcement point of a stack keeps its own settings, and what is no setting", () => {
  expect(pepProgram(parts).env).toMatchObject({ PATH: "/bin", SVC_PEP_QUIT: "true", SVC_TELEMETRY_KEY: "of both" });
});

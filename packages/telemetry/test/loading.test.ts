import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const index = new URL("../src/index.ts", import.meta.url).href;

/** The OpenTelemetry packages that a process has loaded after its telemetry was created. */
function loadedUnder(otel: Readonly<Record<string, string>>): readonly string[] {
  const config = { key: "k", dev: false, discloseIdentities: false, logLevel: "warn", otel };
  const program = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
    const { createTelemetry } = await import("${index}");
    createTelemetry({ app: "pep", version: "1", config: ${JSON.stringify(config)} });
    console.log(JSON.stringify([...loaded]));
    process.exit();`;
  const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  const names = (JSON.parse(stdout) as string[]).map(
    (url) => /.*\/node_modules\/(@opentelemetry\/[^/]+)/.exec(url)?.[1],
  );
  return [...new Set(names)].filter((name) => name !== undefined);
}

test.each([
  ["exports no spans", {}],
  ["samples none", { OTEL_TRACES_SAMPLER: "always_off" }],
  [
    "has its exporter switched off",
    { OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
  ],
])("a process that %s does not load the SDK", (_how, otel) => {
  expect(loadedUnder(otel)).toEqual(["@opentelemetry/api"]);
});

test("a process that exports spans loads the SDK before the first of them", () => {
  expect(loadedUnder({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" })).toEqual(
    expect.arrayContaining(["@opentelemetry/otlp-exporter-base", "@opentelemetry/sdk-trace-node"]),
  );
});

import { requires } from "@svc/test-support";
import { afterAll, expect } from "vitest";
import { canariesOf, found } from "./src/telemetry/canaries.ts";
import { logFaults, metricFaults, spanFaults } from "./src/telemetry/contract-faults.ts";
import { chainShown, decisionsById, misnamed } from "./src/telemetry/decisions.ts";
import { callThrough, registerCourier } from "./src/telemetry/drive-calls.ts";
import { takeHops } from "./src/telemetry/drive-hops.ts";
import { total } from "./src/telemetry/exposition.ts";
import { literalsOfTheSources } from "./src/telemetry/log-lines.ts";
import { emitterOf, openSurface, processNames } from "./src/telemetry/surface.ts";

const { describe, test, start } = requires("redis-server");

// Driven once during collection, as in telemetry-contract.test.ts, which tests telemetry without disclosure.
const { surface, scrapes, rows, logs } = await start(async () => {
  const surface = await openSurface({ env: { SVC_TELEMETRY_DISCLOSE_IDENTITIES: "true" } });
  afterAll(() => surface.stop());
  await registerCourier(surface);
  await takeHops(surface);
  await callThrough(surface);
  const scrapes = await surface.scrapes();
  const rows = await decisionsById(surface.api);
  await surface.finish();
  return { surface, scrapes, rows, logs: surface.logs() };
});
const emitted = surface.receiver.spans;

describe("with disclosure on", () => {
  test.each(processNames)("the gauge of the %s is 1", (name) => {
    expect(total(scrapes[name], "svc_telemetry_identity_disclosure")).toBe(1);
  });

  test("spans have names instead of pseudonyms, and match the contract", () => {
    expect([...new Set(emitted.flatMap((span) => spanFaults(span, { isDisclosed: true })))]).toEqual([]);
  });

  test("a decision's span matches the record's agent and taint source", () => {
    const decided = emitted.filter(({ attributes }) => attributes["authz.action_id"] !== undefined);
    expect(decided.length).toBeGreaterThan(50);
    expect(misnamed(decided, rows, true)).toEqual([]);
    expect(decided.some(({ attributes }) => attributes["authz.taint_source"] !== undefined)).toBe(true);
  });

  test("a span has the chain as a JSON array, with the person first", () => {
    const chains = emitted.map(({ attributes }) => attributes["authz.act_chain"]);
    expect(chains).toContain(chainShown(["ada", "planner-canary", "clerk-canary"], true));
    expect(chains).toContain(chainShown(["canary-user"], true));
  });

  test("metrics and logs contain no names, and match the contract", () => {
    const literals = literalsOfTheSources();
    for (const name of processNames) {
      expect(metricFaults(scrapes[name], emitterOf(name))).toEqual([]);
      expect([...new Set(logs[name].flatMap((line) => logFaults(line, emitterOf(name), literals)))]).toEqual([]);
      expect(scrapes[name].text + logs[name].map(({ text }) => text).join()).not.toMatch(/canary|"ada"/);
    }
  });

  test("no other attribute contains a name, and none a secret", () => {
    const shown = ["authz.agent", "authz.act_chain", "authz.taint_source"];
    const others = emitted.flatMap(({ name, attributes }) =>
      Object.entries(attributes)
        .filter(([key]) => !shown.includes(key))
        .map(([key, value]) => `${name} ${key}=${value}`),
    );
    expect(others.filter((text) => /canary|=ada$/.test(text))).toEqual([]);
    const secrets = canariesOf([surface.api, surface.strict], surface.tool, ["canary-param", "canary-query", "eyJ"]);
    expect(found(surface.receiver.text(), secrets)).toEqual([]);
  });
});

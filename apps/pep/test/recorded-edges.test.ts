import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { aggregateTrace } from "@svc/drift";
import { expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const names = ["read", "write", "shred", "last"];
const routes = names.map((name) => ({
  methods: ["GET"],
  path: `/${name}`,
  target: `http:ledger/${name}`,
  data_class: "finance",
}));

async function setup(
  settings: Record<string, string> = {},
  place: (folder: string) => string = (folder) => `${folder}/traces/`,
) {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "ledger", url: upstream.url, routes }],
    settings: (folder) => ({ SVC_TRACE_PATH: place(folder), SVC_PEP_GRACE_SECONDS: "0", ...settings }),
  });
  const { controlPlane, url } = running;
  controlPlane.policies.set("http:ledger/read", {});
  controlPlane.policies.set("http:ledger/write", { taint: "untrusted_external" });
  controlPlane.policies.set("http:ledger/shred", { denyReason: "TARGET_NOT_DECLARED" });
  const call = async (path: string, headers: Record<string, string>) =>
    (await fetch(`${url}${path}`, { headers })).status;
  return { ...running, traces: join(running.folder, "traces"), call };
}
const edgesIn = (path: string) => aggregateTrace(path).edges.map(({ seenAt: _, ...edge }) => edge);

const ofAgent = {
  ...{ scope: null, chain: ["planner"], caller: "planner", targetKind: "tool", dataClass: "finance", hop: 2 },
  ...{ taint: "trusted_internal", count: 1, undecided: 0 },
};

test.each(["enforce", "observe"])(
  "each call that is decided is one edge, also where it is not allowed: %s",
  async (mode) => {
    const { pep, traces, session, controlPlane, call } = await setup({ SVC_PEP_MODE: mode });
    const human = await session();
    const bearer = await controlPlane.delegate(human.authorization.slice("Bearer ".length), "planner");
    const agent = { authorization: `Bearer ${bearer}` };
    await call("/ledger/read", human);
    for (const name of ["read", "write", "shred"]) await call(`/ledger/${name}`, agent);
    controlPlane.override = ({ path }, response) => {
      if (path !== "/v1/authorize") return undefined;
      response.writeHead(503, { "content-type": "application/json" }).end("{}");
      return true;
    };
    await call("/ledger/last", agent);
    await call("/ledger/nowhere", agent);
    await call("/ledger/read", {});
    await pep.stop();
    expect(aggregateTrace(traces)).toMatchObject({ runs: 1, events: 5, faults: [] });
    const narrowed = { ...ofAgent, narrowedTo: expect.arrayContaining([expect.any(String)]) };
    expect(edgesIn(traces)).toEqual([
      {
        ...{ ...ofAgent, target: "http:ledger/read", scope: expect.any(String), chain: [], hop: 1, narrowedTo: null },
        ...{ caller: expect.any(String), outcomes: ["allow"] },
      },
      { ...narrowed, target: "http:ledger/read", outcomes: ["allow"] },
      { ...narrowed, target: "http:ledger/write", taint: "untrusted_external", outcomes: ["allow"] },
      { ...narrowed, target: "http:ledger/shred", outcomes: ["deny"] },
      { ...narrowed, target: "http:ledger/last", outcomes: ["undecided"], undecided: 1 },
    ]);
  },
);

test("a deny at the exchange is recorded as one", async () => {
  const { pep, traces, session, controlPlane, call } = await setup();
  controlPlane.override = ({ path }, response) => {
    if (path !== "/v1/token/exchange") return undefined;
    const body = { error: "invalid_target", error_description: "TAINT_BLOCKED" };
    response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(body));
    return true;
  };
  await call("/ledger/read", await session());
  await pep.stop();
  expect(edgesIn(traces)).toMatchObject([{ outcomes: ["deny"] }]);
});

test("an enforcement point that was never called leaves a run without a call", async () => {
  const { pep, traces } = await setup();
  await pep.stop();
  expect(aggregateTrace(traces).faults).toMatchObject([{ kind: "run_empty" }]);
});

test("a trace that cannot be written breaks no call, and is reported once", async () => {
  const { pep, session, call, reported } = await setup({}, (folder) => {
    writeFileSync(join(folder, "file"), "");
    return join(folder, "file", "traces/");
  });
  const headers = await session();
  expect([await call("/ledger/read", headers), await call("/ledger/read", headers)]).toEqual([200, 200]);
  await pep.stop();
  expect(reported.filter((line) => line.startsWith("WARNING: SVC_TRACE_PATH: "))).toHaveLength(1);
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aggregateTrace } from "@svc/drift";
import { expect, onTestFinished, test, vi } from "vitest";
import { sessionId } from "../../hop/test/support/tokens.ts";
import { hopContext } from "../src/index.ts";
import { errorOf, fakeSession, planner, post, read } from "./support/fake-client.ts";
import { refused } from "./support/fake-plane.ts";

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-trace-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const atHop1 = {
  ...{ scope: "expenses", chain: [], caller: "user-1", hop: 1, narrowedTo: null, taint: "trusted_internal" },
  undecided: 0,
};
const atHop2 = { ...atHop1, chain: ["planner"], caller: "planner", hop: 2, narrowedTo: [planner.dataClass] };

test("each authorize call records one edge, also where it fails", async () => {
  const tracePath = aFolder();
  const { svc, plane, session } = await fakeSession({ tracePath });
  const [, context] = await svc.hop(session.context(), planner);
  await svc.authorize(context, { ...read, taint: "untrusted_external" });
  await errorOf(svc.authorize(context, post));
  plane.targets.set("http:mail/send", { deny: "TARGET_NOT_DECLARED" });
  await errorOf(svc.authorize(context, { ...read, target: "http:mail/send" }));
  plane.replies.set("POST /v1/authorize", () => refused(503, "audit_unavailable"));
  await errorOf(svc.authorize(context, { ...read, target: "http:ledger/last", taint: "untrusted_external" }));
  await svc.close();
  const { edges, faults } = aggregateTrace(tracePath);
  expect(faults).toEqual([]);
  const seen = { count: 1, seenAt: expect.anything() };
  expect(edges).toEqual([
    { ...atHop1, ...planner, outcomes: ["allow"], ...seen },
    { ...atHop2, ...read, taint: "untrusted_external", outcomes: ["allow"], ...seen },
    { ...atHop2, ...post, outcomes: ["allow"], ...seen },
    { ...atHop2, ...read, target: "http:mail/send", outcomes: ["deny"], ...seen },
    {
      ...{ ...atHop2, ...read, target: "http:ledger/last", taint: "untrusted_external" },
      ...{ outcomes: ["undecided"], undecided: 1, ...seen },
    },
  ]);
});

test("without the session's hop-1 token the configured scope is recorded, or none", async () => {
  const scopeOf = async (traceScope?: string) => {
    const tracePath = aFolder();
    const orchestrator = await fakeSession();
    const [grant] = await orchestrator.svc.hop(orchestrator.session.context(), planner);
    const { svc } = await fakeSession({ tracePath, traceScope });
    await svc.authorize(hopContext(sessionId, grant.accessToken), read);
    await svc.close();
    return aggregateTrace(tracePath).edges[0]?.scope;
  };
  expect(await scopeOf("travel")).toBe("travel");
  expect(await scopeOf()).toBeNull();
});

test("the environment names the trace by default, and an empty name means none", async () => {
  const folder = aFolder();
  vi.stubEnv("SVC_TRACE_PATH", join(folder, "trace.jsonl"));
  onTestFinished(() => void vi.unstubAllEnvs());
  const { svc, session } = await fakeSession();
  await svc.authorize(session.context(), read);
  await svc.close();
  expect(aggregateTrace(folder)).toMatchObject({ events: 1, faults: [] });
  vi.stubEnv("SVC_TRACE_PATH", "");
  const untraced = await fakeSession();
  await untraced.svc.authorize(untraced.session.context(), read);
});

test("a trace that cannot be written fails no call", async () => {
  const { svc, session } = await fakeSession({ tracePath: "/proc/nowhere/trace" });
  await expect(svc.authorize(session.context(), read)).resolves.toMatchObject({ target: read.target });
});

import { describe, expect, test } from "vitest";
import { ledgerForTests } from "./src/for-tests.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope, name } = await ledgerForTests();
const { session, clerk, hops } = await clerkSession(api, scope);
const read = await api.hop(session, clerk.token, hops.read);
await api.chain(read.action);

async function scrape(): Promise<string> {
  const { headers, text } = await api.call("GET", "/metrics");
  expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return text;
}

/** The control plane's names and labels (docs/reference/telemetry.md#metrics). All label values are closed sets. */
const families: Readonly<Record<string, readonly [type: string, labels: readonly string[]]>> = {
  svc_decisions: ["counter", ["outcome"]],
  svc_denials: ["counter", ["reason"]],
  svc_audit_write_failures: ["counter", []],
  svc_chain_query_duration_seconds: ["histogram", []],
  svc_chain_queries: ["counter", ["result"]],
  svc_chain_writes: ["counter", []],
  svc_taint_blocks: ["counter", []],
  svc_taint_marks: ["counter", []],
  svc_transaction_mints: ["counter", ["result"]],
  svc_enrollments: ["counter", ["status"]],
  svc_revocations: ["counter", []],
  svc_revoked_hop_refusals: ["counter", ["stage"]],
  svc_exchange_pop_failures: ["counter", ["cause"]],
  svc_trace_context_rejected: ["counter", ["cause"]],
  svc_telemetry_dropped: ["counter", ["signal"]],
  svc_telemetry_identity_disclosure: ["gauge", []],
};

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const samplesOf = (text: string): readonly Sample[] =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = "", text = ""]) => [label, text] as const);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });

const familyOf = (sample: string): string => sample.replace(/_(total|bucket|sum|count)$/, "");

describe("the metrics", () => {
  test("are exactly the named families, each of its type", async () => {
    const types = [...(await scrape()).matchAll(/^# TYPE (\S+) (\w+)$/gm)];
    const found = Object.fromEntries(types.map(([, name = "", type]) => [familyOf(name), type]));
    expect(found).toEqual(Object.fromEntries(Object.entries(families).map(([name, [type]]) => [name, type])));
  });

  test("have exactly the named labels", async () => {
    for (const { name, labels } of samplesOf(await scrape())) {
      const expected = families[familyOf(name)]?.[1];
      expect([name, Object.keys(labels).filter((label) => label !== "le")]).toEqual([name, expected]);
    }
  });

  test("contain no agent, user, session, target or scope", async () => {
    const text = await scrape();
    const { planner, clerk, read } = ledgerHops(scope);
    for (const name of ["ada", scope, session, planner.target, clerk.target, read.target]) {
      expect(text).not.toContain(`"${name}`);
    }
  });

  test("gain no series from unknown input", async () => {
    const series = async () => samplesOf(await scrape()).length;
    const before = await series();
    const { session: own, token } = await api.consent(scope);
    for (let n = 0; n < 20; n++) {
      const target = name("http:made/up");
      await api.authorize(own, token, { target, target_kind: "tool", data_class: `class-${n}` });
      await api.call("GET", `/v1/made/up/${n}`, { raw: { headers: { traceparent: `made-up-${n}` } } });
    }
    expect(await series()).toBe(before);
  });

  test("count a deny once under its reason", async () => {
    const denials = async () =>
      samplesOf(await scrape()).find(
        ({ name, labels }) => name === "svc_denials_total" && labels.reason === "TARGET_NOT_DECLARED",
      )?.value ?? Number.NaN;
    const before = await denials();
    const { session: own, token } = await api.consent(scope);
    await api.authorize(own, token, { target: "http:no/where", target_kind: "tool", data_class: "web" });
    expect(await denials()).toBeGreaterThanOrEqual(before + 1);
  });
});

describe("no decision depends on trace context", () => {
  test.each([
    ["a good one", { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }],
    ["one of zeros", { traceparent: `00-${"0".repeat(32)}-${"0".repeat(16)}-01` }],
    ["one of version ff", { traceparent: "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }],
    ["text", { traceparent: "'; drop table decision" }],
    ["a tracestate of 10 kB", { tracestate: `a=${"x".repeat(10_000)}` }],
    ["baggage", { baggage: "svc.decision=allow,taint=trusted_internal" }],
  ])("%s", async (_case, headers) => {
    const { session: own, clerk } = await clerkSession(api, scope);
    const ask = (target: string) =>
      api.call("POST", "/v1/authorize", {
        bearer: clerk.token,
        body: { session_id: own, target, target_kind: "tool", data_class: "finance.entries" },
        raw: { headers },
      });
    expect((await ask(ledgerHops(scope).read.target)).body.decision).toBe("allow");
    expect((await ask("http:no/where")).body.decision).toBe("deny");
  });
});

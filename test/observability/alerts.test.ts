import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { blockCauses } from "@svc/core";
import { requires } from "@svc/test-support";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { checkConfig, checkRules, expectFiring, prometheusFolder, type Series } from "./src/promtool.ts";

const promtool = requires("promtool");

const pep = (name: string, labels = "") => `${name}{instance="pep-1"${labels && `,${labels}`}}`;
const calls = (outcome: string) => pep("svc_pep_calls_total", `outcome="${outcome}"`);
const blocks = (cause: string) => pep("svc_pep_blocks_total", `cause="${cause}"`);
const slow = pep("svc_pep_overhead_seconds_bucket", 'le="0.05"');
const constant = (value: number) => `${value}x400`;
const rising = (perMinute: number) => `0+${perMinute}x400`;
/** 0 for an hour, then this much more a minute. */
const jump = (by: number) => `0x60 ${by}x340`;

/** A healthy fleet: 600 calls a minute, some denied by policy, one in 1,000 slow. */
const healthy: Series = {
  [pep("svc_pep_up")]: constant(1),
  [calls("allowed")]: rising(590),
  [calls("blocked")]: rising(10),
  [calls("observed_would_block")]: constant(0),
  ...Object.fromEntries(blockCauses.map((cause) => [blocks(cause), constant(0)])),
  [blocks("policy")]: rising(10),
  [slow]: rising(599.4),
  [pep("svc_pep_overhead_seconds_bucket", 'le="+Inf"')]: rising(600),
  [pep("svc_pep_overhead_seconds_count")]: rising(600),
  'svc_decisions_total{outcome="allow"}': rising(590),
  'svc_decisions_total{outcome="deny"}': rising(10),
  svc_audit_write_failures_total: constant(0),
  'svc_chain_queries_total{result="complete"}': rising(1),
  'svc_chain_queries_total{result="broken"}': constant(0),
  'svc_revoked_hop_refusals_total{stage="decide"}': constant(0),
  'svc_exchange_pop_failures_total{cause="missing"}': rising(5),
  'svc_exchange_pop_failures_total{cause="invalid"}': constant(0),
  'svc_exchange_pop_failures_total{cause="wrong_agent"}': constant(0),
  'svc_enrollments_total{status="enrolled"}': rising(1),
  'svc_enrollments_total{status="quarantined"}': constant(0),
  'svc_telemetry_dropped_total{signal="span"}': constant(0),
  'svc_telemetry_dropped_total{signal="log"}': constant(0),
  'svc_trace_context_rejected_total{cause="absent"}': rising(300),
  'svc_trace_context_rejected_total{cause="malformed"}': rising(1),
  svc_telemetry_identity_disclosure: constant(0),
  'svc_identity_view_age_seconds{instance="files"}': constant(20),
  'svc_transaction_rejections_total{cause="transaction_missing"}': rising(1),
  'svc_transaction_rejections_total{cause="params_mismatch"}': constant(0),
  'svc_transaction_rejections_total{cause="replayed"}': constant(0),
  svc_drift_undeclared_edges: constant(0),
  svc_drift_unexercised_edges: constant(3),
  svc_drift_lost_events: constant(0),
};

interface Case {
  readonly alert: string;
  readonly when: string;
  /** Differences from the healthy fleet; null for an absent series. */
  readonly input: Readonly<Record<string, string | null>>;
  /** Alerts that must fire with it, because they have the same cause. */
  readonly also?: readonly string[];
  /** Minutes from the start of the input at which it fires. */
  readonly after: number;
  /** The nearest input that must not fire the alert. */
  readonly quiet: { readonly when: string; readonly input: Case["input"]; readonly after?: number };
}

const unreachable = (alert: string, cause: string): Case => ({
  alert,
  when: `calls are refused with ${cause}`,
  input: { [blocks(cause)]: rising(1) },
  after: 10,
  quiet: { when: "they stopped", input: { [blocks(cause)]: `0+1x20 20x380` }, after: 40 },
});

const cases: readonly Case[] = [
  {
    alert: "SvcPepAbsent",
    when: "no enforcement point is scraped",
    input: { [pep("svc_pep_up")]: null },
    after: 6,
    quiet: { when: "it was absent for four minutes", input: { [pep("svc_pep_up")]: "1x10 _x8 1x382" }, after: 25 },
  },
  {
    alert: "SvcPepNotServing",
    when: "one of two does not serve",
    input: { 'svc_pep_up{instance="pep-2"}': constant(0) },
    after: 6,
    quiet: {
      when: "it did not serve for three minutes",
      input: { 'svc_pep_up{instance="pep-2"}': "1 0 0 0 1x396" },
      after: 7,
    },
  },
  unreachable("SvcPdpUnreachable", "pdp_unreachable"),
  unreachable("SvcExchangeUnreachable", "exchange_unreachable"),
  unreachable("SvcMintUnreachable", "mint_unreachable"),
  unreachable("SvcAuditUnavailable", "audit_unavailable"),
  {
    alert: "SvcPepUnclassifiedBlocks",
    when: "one call was blocked for no known cause",
    input: { [blocks("other")]: jump(1) },
    after: 65,
    quiet: {
      when: "callers sent bodies that cannot be bound",
      input: { [blocks("unbindable")]: rising(5) },
      after: 65,
    },
  },
  {
    alert: "SvcPolicyBlocksDominate",
    when: "most calls are denied for half an hour",
    input: { [calls("allowed")]: rising(100), [blocks("policy")]: rising(500), [calls("blocked")]: rising(500) },
    after: 31,
    quiet: {
      when: "a third are",
      input: { [blocks("policy")]: rising(300), [calls("blocked")]: rising(300) },
      after: 31,
    },
  },
  {
    alert: "SvcUnresolvableCalls",
    when: "one call in ten matches no route",
    input: { [blocks("unresolvable_call")]: rising(60) },
    after: 31,
    quiet: { when: "one in a hundred does", input: { [blocks("unresolvable_call")]: rising(6) }, after: 31 },
  },
  {
    alert: "SvcPepOverheadBurnsFast",
    when: "one call in five is slow for an hour",
    input: { [slow]: rising(480) },
    also: ["SvcPepOverheadBurns"],
    after: 65,
    quiet: { when: "they were for three minutes", input: { [slow]: "0+600x60 36600+0x3 37200+600x330" }, after: 64 },
  },
  {
    alert: "SvcPepOverheadBurns",
    when: "eight in a hundred are slow for hours",
    input: { [slow]: rising(552) },
    after: 390,
    quiet: { when: "two in a hundred are", input: { [slow]: rising(588) }, after: 390 },
  },
  {
    alert: "SvcControlPlaneAbsent",
    when: "no control plane is scraped",
    input: { svc_audit_write_failures_total: null },
    after: 6,
    quiet: {
      when: "it was absent for four minutes",
      input: { svc_audit_write_failures_total: "0x10 _x8 0x382" },
      after: 25,
    },
  },
  {
    alert: "SvcAuditWriteFailures",
    when: "one record could not be committed",
    input: { svc_audit_write_failures_total: jump(1) },
    after: 62,
    quiet: { when: "that is an hour ago", input: { svc_audit_write_failures_total: jump(1) }, after: 121 },
  },
  {
    alert: "SvcChainBroken",
    when: "one chain was found broken",
    input: { 'svc_chain_queries_total{result="broken"}': jump(1) },
    after: 62,
    quiet: {
      when: "a chain of an unknown action was requested",
      input: { 'svc_chain_queries_total{result="not_found"}': jump(1) },
    },
  },
  {
    alert: "SvcRevokedAgentActive",
    when: "a revoked agent tries to exchange",
    input: { 'svc_revoked_hop_refusals_total{stage="exchange"}': jump(1) },
    after: 62,
    quiet: { when: "an agent was just revoked", input: { svc_revocations_total: jump(1) } },
  },
  {
    alert: "SvcProofOfPossessionFailing",
    when: "proofs of another agent are presented",
    input: { 'svc_exchange_pop_failures_total{cause="wrong_agent"}': jump(10) },
    after: 62,
    quiet: { when: "two were", input: { 'svc_exchange_pop_failures_total{cause="wrong_agent"}': jump(2) } },
  },
  {
    alert: "SvcAgentQuarantined",
    when: "an enrollment ends in quarantine",
    input: { 'svc_enrollments_total{status="quarantined"}': jump(1) },
    after: 62,
    quiet: { when: "many agents enroll", input: { 'svc_enrollments_total{status="enrolled"}': jump(50) } },
  },
  {
    alert: "SvcTelemetryDropped",
    when: "spans are dropped for a quarter of an hour",
    input: { 'svc_telemetry_dropped_total{signal="span"}': rising(10) },
    after: 15,
    quiet: { when: "a few were once", input: { 'svc_telemetry_dropped_total{signal="span"}': jump(10) }, after: 68 },
  },
  {
    alert: "SvcTraceContextMalformed",
    when: "a request a second has a malformed trace context",
    input: { 'svc_trace_context_rejected_total{cause="malformed"}': rising(60) },
    after: 15,
    quiet: { when: "no caller sends any", input: { 'svc_trace_context_rejected_total{cause="absent"}': rising(600) } },
  },
  {
    alert: "SvcIdentitiesDisclosed",
    when: "one process discloses identities",
    input: { 'svc_telemetry_identity_disclosure{instance="b"}': constant(1) },
    after: 2,
    quiet: { when: "none does", input: { 'svc_telemetry_identity_disclosure{instance="b"}': constant(0) } },
  },
  {
    alert: "SvcIdentityViewStale",
    when: "a verifier has not read revocations for 50 s",
    input: { 'svc_identity_view_age_seconds{instance="files"}': constant(50) },
    after: 3,
    quiet: { when: "for 40 s", input: { 'svc_identity_view_age_seconds{instance="files"}': constant(40) } },
  },
  {
    alert: "SvcTransactionTokenAbuse",
    when: "a transaction token is presented twice",
    input: { 'svc_transaction_rejections_total{cause="replayed"}': jump(1) },
    after: 62,
    quiet: {
      when: "calls have no transaction token",
      input: { 'svc_transaction_rejections_total{cause="transaction_missing"}': jump(9) },
    },
  },
  {
    alert: "SvcDriftDetected",
    when: "an edge is not declared",
    input: { svc_drift_undeclared_edges: constant(1) },
    after: 2,
    quiet: { when: "declared edges were not exercised", input: { svc_drift_unexercised_edges: constant(99) } },
  },
  {
    alert: "SvcDriftEventsLost",
    when: "an event is missing",
    input: { svc_drift_lost_events: constant(1) },
    after: 2,
    quiet: { when: "none is", input: { svc_drift_lost_events: constant(0) } },
  },
];

function deviating(input: Case["input"]): Series {
  const series = { ...healthy, ...input };
  return Object.fromEntries(
    Object.entries(series).flatMap(([name, values]) => (values === null ? [] : [[name, values]])),
  );
}

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

async function shippedAlerts(): Promise<readonly Rule[]> {
  const { groups } = parse(await readFile(join(prometheusFolder, "alerts.yaml"), "utf8"));
  return groups.flatMap(({ rules }: { rules: Rule[] }) => rules);
}

promtool.test("promtool finds no fault in the rules and in the configuration", async () => {
  await checkRules();
  await checkConfig();
});

promtool.test("nothing fires over a fleet at peace", () => expectFiring(healthy, 390, []));

test("this table has every shipped alert, and each describes its cause and remedy", async () => {
  const shipped = await shippedAlerts();
  expect(shipped.map(({ alert }) => alert).sort()).toEqual(cases.map(({ alert }) => alert).sort());
  for (const { labels, annotations } of shipped) {
    expect(["critical", "warning"]).toContain(labels.severity);
    expect(Object.keys(annotations)).toEqual(["summary", "description", "runbook"]);
  }
});

promtool.describe.each(cases)("$alert", ({ alert, when, input, also = [], after, quiet }) => {
  test(`fires when ${when}`, () => expectFiring(deviating(input), after, [alert, ...also]));
  test(`does not fire when ${quiet.when}`, () => expectFiring(deviating(quiet.input), quiet.after ?? after, []));
});

import {
  type AdministrativeEvent,
  type DecisionRecord,
  decodePolicyDocument,
  explain,
  indexPolicy,
  policySchemaVersion,
} from "@svc/core";
import { expect, test } from "vitest";
import type { ConsoleReads, Listed } from "../src/ports.ts";
import { fakeReads, Refused, visitor } from "./fake-ports.ts";

/** Markup that would break out of text, of an attribute in either quotes, of a title, a table, a drawing or a script. */
const corpus = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus=alert(1) x='",
  "</title><script>alert(1)</script>",
  "</textarea></td></table><b>out</b>",
  "<svg onload=alert(1)>",
  "</pre></details><iframe src=javascript:alert(1)>",
  "javascript:alert(1)",
  "&lt;i&gt;entities&lt;/i&gt;",
  "<!--",
];

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");

const listOf = <Row>(...rows: readonly Row[]): Listed<Row> => ({ rows, next: undefined, nextCursor: null });

const id = "01900000-0000-7000-8000-000000000000";

const recordOf = (text: string): DecisionRecord => ({
  actionId: id,
  recordVersion: 2,
  sessionId: id,
  stage: "authorize",
  hop: 2,
  chain: [text],
  actingAgent: text,
  target: text,
  targetKind: "tool",
  dataClass: text,
  decision: "deny",
  denyReason: "TAINT_BLOCKED",
  recoverable: false,
  enforced: false,
  privileged: false,
  taint: "untrusted_external",
  taintSource: text as never,
  policyVersion: 1,
  guaranteeLevel: null,
  parentActionId: id,
  decidedAtMs: 0,
  present: {
    identities: { [text]: "quarantined" },
    blocks: [{ kind: "scope", ref: text }],
    scopes: [text],
  } as never,
});

const policyOf = (text: string) =>
  decodePolicyDocument(
    JSON.stringify({
      scope: text,
      tools: [
        {
          ref: text,
          data_classes: [text],
          privileged: true,
          accepts_taint: false,
          result_taint: "untrusted_external",
          guarantee_level: "full",
        },
      ],
      data_classes: { reads: [text], writes: [text] },
      downstream_agents: [text, `${text} other`],
      paths: [{ path: [text], effective_hop_budget: 2 }],
      hop_budget: 2,
      agents: {
        [text]: {
          manifest_version: 1,
          hop_budget: 2,
          entry: true,
          tools: [{ ref: text, data_classes: [text] }],
          downstream_agents: [text],
        },
      },
    }),
  );

/** Every text that people, agents and servers choose is `text`. */
function readsOf(text: string): ConsoleReads {
  const record = recordOf(text);
  const document = policyOf(text);
  const policy = indexPolicy({ scope: text, version: 1, document });
  const session = {
    sessionId: id,
    userSub: text,
    scope: text,
    policyVersion: 1,
    hopBudget: 2,
    consentedBy: text,
    consentedAtMs: 0,
    expiresAtMs: 0,
  };
  const revocation = { atMs: 0, by: text, reason: text };
  const summary = { facts: session, status: "revoked", revocation } as const;
  const open = { scope: text, sinceVersion: null, denyReason: "TARGET_BLOCKED" } as const;
  const now = { status: "open", scopes: [open, { scope: text, sinceVersion: 2, denyReason: null }] } as const;
  const group = { ...record, denyReason: "TARGET_NOT_DECLARED", count: 1, firstMs: 0, lastMs: 0, now } as const;
  const manifest = { discovery: { kind: "http", name: text, url: "http://192.0.2.1/" }, scopes: { [text]: {} } };
  const version = {
    version: 2,
    status: "attested",
    attestedBy: text,
    attestationReason: text,
    doc: JSON.stringify(manifest),
    createdAtMs: 0,
    discoveryOk: true,
    discovery: [
      {
        ...({ kind: "http", name: text, origin: text, ok: false, credentials: "required" } as const),
        ...{ protocolVersion: text, pages: 2 },
      },
    ],
    definitions: [
      { ref: text, changed: ["description"] as const, before: JSON.stringify({ description: text }), now: null },
    ],
    diff: [
      {
        ref: text,
        kind: "conflicts",
        field: text,
        // The template library takes an object of this shape for markup.
        declared: { isEscaped: true, toString: text },
        discovered: text,
        remedy: text,
      } as never,
    ],
  } as const;
  const event: AdministrativeEvent = {
    eventId: id,
    kind: "agent_revoked",
    atMs: 0,
    actor: text,
    agent: text,
    sessionId: id,
    reason: text,
    details: { kind: "tool", ref: text, user_sub: text, scope: text, path: text, until: text, [text]: text },
  };
  const mark = {
    agent: text,
    taint: "untrusted_external",
    source: text,
    actionId: id,
    enforced: true,
    markedAtMs: 0,
  } as const;
  const count = { ...record, scope: text, bucketStartMs: Date.now(), count: 3 };
  return {
    decisions: async () => listOf({ record, spentAtMs: null, paramsHash: text }),
    sessionTotals: fakeReads().sessionTotals,
    sessionFamily: async () => [{ ...summary, agent: text, holder: text }],
    evidence: async () => ({ status: "faulty", cause: text, batch: 1 }),
    search: async () =>
      (["agent", "scope", "person", "tool", "event"] as const).map((kind) => ({
        ...({ kind, ref: text, isExact: false, atMs: 0, reason: text } as const),
        eventKind: kind === "event" ? "block_set" : null,
      })),
    countDecisions: async () => [count],
    countCalls: async () => [
      { ...record, byPerson: true, count: 3, firstMs: 0, lastMs: 0 },
      { ...record, byPerson: false, count: 1, firstMs: 0, lastMs: 0 },
    ],
    countPeople: async () => [{ userSub: text, count: 3, denied: 1, lastMs: 0 }],
    observedByScope: async () => [{ scope: text, count: 1 }],
    wouldBlocks: async () =>
      listOf(group, { ...group, target: `${text} other` }, { ...group, now: { ...now, status: "admitted" } }),
    action: async () => ({
      record,
      explanation: explain(policy, record, undefined),
      chain: { hops: [record], break: { atHop: 2, reason: "LEGACY_TOKEN" } },
      session,
    }),
    sessions: async () => listOf(summary),
    session: async () => ({ ...summary, marks: [mark] }),
    agents: async () => listOf({ agentId: id, name: text, latestVersion: 1, latestStatus: "attested" }),
    agent: async () => ({
      agentId: id,
      agent: text,
      status: "revoked",
      anchorVersion: 1,
      keys: [{ kid: text }],
      revokedReason: text,
      asOfMs: 0,
    }),
    manifestVersions: async () => listOf(version, { ...version, version: 1, doc: text }),
    acceptedManifests: async () => new Map(),
    scopes: async () => listOf({ scope: text, version: 1, schemaVersion: policySchemaVersion, compiledAtMs: 0 }),
    policy: async () => ({ scope: text, latestVersion: 2, version: 1, document }),
    policiesOfAgent: async () => [{ scope: text, version: 1, document }],
    policiesOfTool: async () => [{ scope: text, version: 1, document }],
    definitionTexts: async () => new Map([["h", text]]),
    blocks: async () =>
      (["tool", "agent", "scope"] as const).map((kind) => ({
        kind,
        ref: text,
        reason: text,
        untilMs: null,
        createdAtMs: 0,
      })),
    blocksOf: async (kind) => [{ kind, ref: text, reason: text, untilMs: null, createdAtMs: 0 }],
    revokedAgents: async () => listOf(event),
    revokedSessions: async () => [event],
    events: async () => listOf(event, { ...event, details: { ...event.details, sign_in_id: text, policy_version: 1 } }),
    countActiveSessions: async () => 1,
    sealState: async () => ({ sealedAtMs: 0, unsealed: 1, oldestUnsealedMs: 0 }),
    failingChecks: async () => [],
  };
}

test.each(corpus)("stored markup stays text on every page: %s", async (text) => {
  const { look } = visitor({ reads: readsOf(text) });
  const scope = encodeURIComponent(text);
  for (const [path, least] of [
    ["/console", 9],
    ["/console/decisions", 3],
    [`/console/decisions?agent=${scope}`, 4],
    [`/console/actions/${id}`, 25],
    ["/console/would-block", 4],
    [`/console/would-block?scope=${scope}`, 8],
    [`/console/search?q=${scope}`, 6],
    ["/console/scopes", 1],
    [`/console/scope?name=${scope}`, 10],
    ["/console/agents", 1],
    ["/console/agents/any", 10],
    ["/console/sessions", 2],
    [`/console/sessions?user_sub=${scope}`, 3],
    [`/console/sessions/${id}`, 8],
    ["/console/denials", 10],
    ["/console/events", 20],
    [`/console/person?sub=${scope}`, 20],
    [`/console/tool?name=${scope}`, 10],
    ["/console/map", 4],
    [`/console/map?agent=${scope}`, 4],
  ] as const) {
    const { status, text: page } = await look(path);
    expect([path, status]).toEqual([path, 200]);
    if (escaped(text) !== text) expect(page).not.toContain(text);
    expect(page).not.toContain('href="javascript:');
    expect(page.match(/<script/g)).toHaveLength(path === "/console" ? 4 : 2);
    expect([path, page.split(escaped(text)).length - 1 >= least]).toEqual([path, true]);
  }
});

test.each(corpus)("markup in an address or a refusal stays text: %s", async (text) => {
  const refuse = async (): Promise<never> => {
    throw Object.assign(new Refused("invalid_request", 400), {
      message: text,
      details: { issues: [{ path: text, message: text }] },
    });
  };
  const { look, request } = visitor({ reads: { ...readsOf(text), decisions: refuse } });
  const value = encodeURIComponent(text);
  for (const seen of [
    await look(`/console/decisions?${value}=1`),
    await look(`/console?span=${value}`),
    await request(`/console/sign-in?next=${value}`),
  ]) {
    if (escaped(text) !== text) expect(seen.text).not.toContain(text);
    expect(seen.text).not.toContain('href="javascript:');
  }
});

import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { visitor } from "./console-support.ts";
import { recorder } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

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

let plane: Awaited<ReturnType<typeof startPlane>>;
let records: Awaited<ReturnType<typeof recorder>>;
beforeAll(async () => {
  plane = await startPlane();
  records = await recorder(plane);
});
afterAll(async () => {
  await records.sql.end();
  await plane.stop();
});

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");

/** Everything that people, agents and servers choose, through the API where it takes it and past it where it does not. */
async function plant(text: string, at: number) {
  const { sql } = records;
  const { send } = plane;
  const agent = `agent-${at}`;
  const discovery = { kind: "http", name: text, url: `http://192.0.2.1/?${encodeURIComponent(text)}` };
  const manifest = { ...aManifest(text, { tools: [aTool("mcp:ledger/read")] }), discovery };
  const registered = await send("/v1/agents", { body: { name: agent, manifest, override: { reason: text } } });
  expect(registered.status).toBe(201);
  await send("/v1/manifests", { body: { agent, manifest: aManifest(text), override: { reason: text } } });
  const { json: consent } = await send("/v1/consent", { body: { scope: text, user_sub: text } });
  const sessionId = String(consent.session_id);
  await send(`/v1/sessions/${sessionId}/revoke`, { body: { reason: text } });
  await send(`/v1/blocks/scope/${encodeURIComponent(text)}`, { method: "PUT", body: { reason: text } });
  const { agent_id: agentId } = (await send(`/v1/agents/resolve?name=${agent}`)).json;
  await send(`/v1/agents/${agentId}/revoke`, { body: { reason: text } });
  const hop = {
    session_id: sessionId,
    decision: "deny",
    enforced: false,
    hop: 2,
    data_class: text,
    target_kind: "tool",
  };
  const named = { ...hop, chain: [text], acting_agent: text, target: text };
  const present = sql.json({
    identities: { [text]: "quarantined" },
    blocks: [{ kind: "scope", ref: text }],
    scopes: [text],
  });
  const { action_id: actionId } = await records.record({
    ...named,
    deny_reason: "TAINT_BLOCKED",
    taint: "untrusted_external",
    taint_source: text,
    present,
  });
  await records.record({ ...named, deny_reason: "SCOPE_NOT_CONSENTED", present });
  await records.record({
    ...hop,
    chain: [agent],
    acting_agent: agent,
    target: text,
    deny_reason: "TARGET_NOT_DECLARED",
  });
  await sql`insert into taint_mark (session_id, member, source, action_id, marked_at)
    values (${sessionId}, ${text}, ${text}, ${actionId}, now())`;
  const diff = [
    {
      ref: text,
      kind: "conflicts",
      field: text,
      declared: { isEscaped: true, toString: text },
      discovered: text,
      remedy: text,
    },
  ];
  await sql`insert into reconciliation_report (report_id, agent_name, agent_id, manifest_version, status, discovery_ok, diff, checked_at)
    values (gen_random_uuid(), ${agent}, ${String(agentId)}, 1, 'attested', true, ${sql.json(diff)}, now())`;
  const scope = encodeURIComponent(text);
  return [
    "/console",
    "/console/decisions",
    `/console/decisions?agent=${scope}`,
    `/console/actions/${actionId}`,
    "/console/would-block",
    `/console/would-block?scope=${scope}`,
    "/console/scopes",
    `/console/scope?name=${scope}`,
    "/console/agents",
    `/console/agents/${agent}`,
    "/console/sessions",
    `/console/sessions?user_sub=${scope}`,
    `/console/sessions/${sessionId}`,
    "/console/denials",
  ];
}

describe("markup that somebody chose is text on every page", () => {
  test.each(corpus.map((text, at) => [text, at] as const))("%s", async (text, at) => {
    const pages = await plant(text, at);
    const { look } = visitor(plane.deps);
    let shown = 0;
    for (const path of pages) {
      const { status, text: page } = await look(path);
      expect([path, status]).toEqual([path, 200]);
      if (escaped(text) !== text) expect(page).not.toContain(text);
      expect(page).not.toContain('href="javascript:');
      expect(page.match(/<script/g)).toHaveLength(path === "/console" ? 3 : 1);
      shown += page.split(escaped(text)).length - 1;
    }
    expect(shown).toBeGreaterThan(20);
  });
});

test.each(corpus)("an address that holds %s is told back as text", async (text) => {
  const { look, ask } = visitor(plane.deps);
  const asked = encodeURIComponent(text);
  for (const seen of [
    await look(`/console/decisions?${asked}=1`),
    await look(`/console/decisions?agent=${asked}&outcome=${asked}`),
    await look(`/console/agents/${asked.replaceAll(".", "%2E")}`),
    await ask(`/console/sign-in?next=${asked}`),
  ]) {
    if (escaped(text) !== text) expect(seen.text).not.toContain(text);
    expect(seen.text).not.toContain('href="javascript:');
  }
});

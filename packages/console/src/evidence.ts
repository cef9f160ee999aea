import { html } from "hono/html";
import { count, facts, isolated, link, type Markup, notice, plural, time } from "./markup.ts";
import { actionPath } from "./places.ts";
import type { Action, Evidence } from "./ports.ts";
import type { Page } from "./view.ts";

/** Rows are sealed a minute after their time, and every ten seconds (docs/reference/record.md#seals). */
const sealedWithinMs = 120_000;

const evidencePath = (actionId: string): string => `${actionPath(actionId)}/evidence.json`;

/** Where the decision is sealed, how that is verified, and the commands for its session. */
export const evidenceSection = (action: Action, evidence: Evidence, nowMs: number, issuer: string): Markup =>
  html`${sealed(action, evidence, nowMs)}
${
  evidence.status === "sealed" &&
  html`<p>${link(evidencePath(action.record.actionId), "Download the evidence of this decision")}, then verify it without this service:</p>
<pre tabindex="0">svc audit verify --jwks ${issuer}/.well-known/jwks.json --proof ${fileOf(action)}</pre>`
}
<details><summary>Commands for the whole session</summary>
<p>Its decisions, and every sealed row of its time with the proof:</p>
<pre tabindex="0">${sessionCommands(action, issuer)}</pre></details>`;

const fileOf = ({ record }: Action): string => `evidence-${record.actionId}.json`;

function sealed({ record }: Action, evidence: Evidence, nowMs: number): Markup {
  switch (evidence.status) {
    case "sealed":
      return sealFacts(evidence);
    case "unsealed":
      return nowMs - record.decidedAtMs < sealedWithinMs
        ? notice(
            "neutral",
            "Not sealed yet",
            html`<p>It will be at about ${time(record.decidedAtMs + sealedWithinMs)}. Until then only the database vouches for it.</p>`,
          )
        : notice(
            "observe",
            "Not sealed",
            html`<p>Sealing is behind: see the age of the oldest unsealed row at <a href="/readyz">/readyz</a>, and the service's log.</p>`,
          );
    case "faulty":
      return notice(
        "deny",
        "The record is not as it was sealed",
        html`<p>${isolated(evidence.cause.replaceAll("_", " "))}${evidence.batch !== undefined && html` in batch ${count(evidence.batch)}`}. <code>svc audit verify</code> lists every such row. Keep this page and the database as they are, and find out who changed them.</p>`,
      );
    default:
      return evidence satisfies never;
  }
}

function sealFacts({
  batch,
  sealedAtMs,
  kid,
  proofs: [proof, ...others],
}: Extract<Evidence, { status: "sealed" }>): Markup {
  return facts([
    ["Sealed", time(sealedAtMs)],
    ["Tree", html`batch ${count(batch)}, ${proof && plural(proof.tree_size, "leaf", "leaves")}`],
    ["Leaf", proof && count(proof.leaf_index)],
    ["Signed by", kid && html`key <code>${kid}</code>`],
    ["Also sealed", others.length > 0 && plural(others.length, "row that followed", "rows that followed")],
    [
      "Proof",
      proof &&
        html`<details><summary>${plural(proof.path.length, "hash", "hashes")} from the leaf to the signed root</summary><pre tabindex="0">${proof.path.join("\n")}</pre></details>`,
    ],
  ]);
}

function sessionCommands({ session }: Action, issuer: string): string {
  const { sessionId, consentedAtMs, expiresAtMs } = session;
  const [since, until] = [consentedAtMs, expiresAtMs].map((ms) => new Date(ms).toISOString());
  const folder = `evidence-${sessionId}`;
  return `svc audit export --session ${sessionId} --since ${since} --output ${sessionId}.ndjson
svc audit export --since ${since} --until ${until} --to ${folder}
svc audit verify-export ${folder} --jwks ${issuer}/.well-known/jwks.json`;
}

/** The proofs of one decision as a file. */
export const evidencePage: Page = {
  path: "/console/actions/:action_id/evidence.json",
  async render({ reads }, { params }) {
    const action = await reads.action(params.action_id ?? "");
    const actionId = action?.record.actionId ?? "";
    const evidence = action && (await reads.evidence(actionId));
    if (evidence?.status !== "sealed") {
      return {
        title: "No evidence yet",
        section: "Decisions",
        status: 404,
        body: html`<p>${action === undefined ? html`The record has no such decision. ${link("/console/decisions", "All decisions")}` : html`The decision has no proof now. ${link(actionPath(actionId), "Its page has the reason")}.`}</p>`,
      };
    }
    return new Response(`${JSON.stringify({ action_id: actionId, proofs: evidence.proofs }, null, 1)}\n`, {
      headers: {
        "Content-Type": "application/json",
        "Content-Disposition": `attachment; filename="evidence-${actionId}.json"`,
      },
    });
  },
};

import { Document } from "yaml";
import type { DiscoveryPlan } from "./discovery.ts";
import type { Offer, OfferedTool } from "./offer.ts";
import { commentAbove, commentEach, flowEach, noteLines, schemaLine } from "./yaml-comments.ts";

interface Declared {
  readonly agent: string;
  readonly scope: string;
  readonly offers: readonly Offer[];
  readonly plan: DiscoveryPlan;
}

/** A person, the agent, a tool. */
const hopBudget = 2;

/** The agent's manifest: every tool that was found, with a comment on each that is privileged, untrusted or a guess. */
export function manifestYaml({ agent, scope, offers, plan }: Declared, schema: string): string {
  const tools = offers.flatMap((offer) => offer.tools);
  const document = new Document({
    agent,
    manifest: {
      ...(plan.entries.length > 0 && { discovery: plan.entries }),
      scopes: { [scope]: { hop_budget: hopBudget, tools: tools.map(declarationOf) } },
    },
  });
  document.commentBefore = `${schemaLine(schema)}\n Remove what the agent does not need, and decide what is marked with "review:".`;
  const [first] = plan.entries.length > 0 ? ["discovery"] : ["scopes"];
  const manifest = document.get("manifest") as { readonly items: readonly { readonly key: { value?: unknown } }[] };
  commentAbove(manifest.items.find(({ key }) => key.value === first)?.key, plan.comments);
  flowEach(document, ["manifest", "discovery"]);
  const path = ["manifest", "scopes", scope, "tools"];
  flowEach(document, path);
  commentEach(document, path, (index) => noteLines(tools[index]?.notes ?? []));
  return document.toString({ lineWidth: 0 });
}

const declarationOf = ({ ref, dataClass, access, privileged, acceptsTaint, resultTaint }: OfferedTool): object => ({
  ref,
  data_classes: [dataClass],
  ...(access === "write" && { access }),
  ...(privileged && { privileged }),
  ...(acceptsTaint === false && { accepts_taint: false }),
  ...(resultTaint === "untrusted_external" && { result_taint: resultTaint }),
});

import { denyReasons, outcomes, taints, targetKinds } from "@svc/core";
import { asOptions, type Field } from "../form.ts";
import type { Query } from "../ports.ts";
import { spanFields, withInstants } from "../span.ts";
import { denyLabel } from "../words.ts";

export const decisionsPath = "/console/decisions";

const modes = [
  ["true", "enforced"],
  ["false", "observed"],
] as const;

const yesNo = [
  ["true", "yes"],
  ["false", "no"],
] as const;

/** Every filter of the audit API. */
export const decisionFields: readonly Field[] = [
  ...spanFields,
  { name: "outcome", label: "Outcome", options: asOptions(outcomes) },
  {
    name: "deny_reason",
    label: "Deny reason",
    options: denyReasons.map((reason) => [reason, `${denyLabel(reason)} (${reason})`] as const),
  },
  { name: "enforced", label: "Mode", options: modes },
  { name: "user_sub", label: "Person" },
  { name: "agent", label: "Caller" },
  { name: "target", label: "Target" },
  { name: "target_kind", label: "Kind of target", options: asOptions(targetKinds) },
  { name: "scope", label: "Scope" },
  { name: "session_id", label: "Session" },
  { name: "taint", label: "Taint", options: asOptions(taints) },
  { name: "privileged", label: "Privileged", options: yesNo },
  {
    name: "protocol",
    label: "MCP session messages",
    unchosen: "hidden",
    options: [
      ["all", "shown"],
      ["true", "no others"],
    ],
  },
  { name: "order", label: "Order", unchosen: "newest first", options: [["oldest", "oldest first"]] },
];

/** Without a choice the pages hide the messages of MCP sessions, which the audit API returns. */
const withProtocol = ({ protocol = "false", ...others }: Query): Query =>
  protocol === "all" ? others : { ...others, protocol };

/** The page's query as the audit API takes it. */
export const askedOf = (query: Query, nowMs: number): Query => withProtocol(withInstants(query, nowMs));

/** The same filter as a page's query whose span does not move with the clock. */
export function fixedSpan(query: Query, asked: Query): Query {
  const { last: _last, cursor: _cursor, ...fixed } = query;
  return { ...fixed, ...(asked.since !== undefined && { since: asked.since }) };
}

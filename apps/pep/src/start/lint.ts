import { lintRules, type Rule } from "@svc/classify";
import type { LintedRules } from "@svc/core";
import type { UpstreamEntry } from "../protocols/protocols.ts";
import { oauthFaults } from "../upstreams/upstreams-file.ts";
import { entriesOf } from "./file-entries.ts";

/**
 * Returns the exit code of `--lint FILE`: 0 no rule is dead, 1 some are, 2 the file cannot be used.
 * @param publicUrl of the settings; without it, each upstream with `oauth` is logged
 */
export function runLint(
  file: string | undefined,
  print: (line: string) => void,
  log: (line: string) => void,
  publicUrl?: URL,
): 0 | 1 | 2 {
  try {
    if (file === undefined) throw new Error("--lint needs an upstreams file");
    const entries = entriesOf(file);
    // A note: where the file is judged, the settings of the enforcement point that serves it may be unknown.
    for (const missing of oauthFaults(entries, publicUrl)) log(`${file}: ${missing}`);
    const linted = lintEntries(entries);
    print(JSON.stringify(linted));
    return linted.findings.some(({ kind }) => kind !== "overlap") ? 1 : 0;
  } catch (error) {
    log(error instanceof Error ? error.message : `${file} cannot be used`);
    return 2;
  }
}

/** Every list of rules, each by itself (docs/reference/enforcement-point.md#checking-rules). */
export function lintEntries(entries: readonly UpstreamEntry[]): LintedRules {
  const lists = entries.flatMap((entry) =>
    listsOf(entry).map(({ at, rules }) => ({ upstream: entry.name, at, rules })),
  );
  return {
    rules: lists.reduce((sum, { rules }) => sum + rules.length, 0),
    findings: lists.flatMap(({ upstream, at, rules }) =>
      lintRules(rules).map((finding) => {
        const by = finding.kind === "unsatisfiable" ? null : finding.by;
        const classOf = (rule: number | null) => (rule === null ? null : (rules[rule - 1]?.data_class ?? null));
        const data_class = classOf(finding.rule) ?? "";
        return { upstream, at, kind: finding.kind, rule: finding.rule, data_class, by, by_data_class: classOf(by) };
      }),
    ),
  };
}

interface RuleList {
  /** Route or tool. */
  readonly at: string;
  readonly rules: readonly Rule[];
}

function listsOf(entry: UpstreamEntry): readonly RuleList[] {
  if (entry.protocol === "mcp") {
    return Object.entries(entry.tools).flatMap(([at, given]) =>
      typeof given === "string" ? [] : [{ at, rules: given.classify }],
    );
  }
  return entry.routes.flatMap((route) =>
    route.connect || !route.classify ? [] : [{ at: `${route.methods.join("|")} ${route.path}`, rules: route.classify }],
  );
}

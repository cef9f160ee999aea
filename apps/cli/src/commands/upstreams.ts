import type { Suggestions } from "@svc/core";
import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { colors, print, printJson } from "../output.ts";

const examples = `
Calls that no route lists are forwarded in observe mode, and the enforcement point's admin port lists them. What is
printed is to be reviewed: target and data class are guessed from method and path. No route is suggested that would
make a path of the file ambiguous; the reason is printed in its place.

Examples:
  svc upstreams suggest --upstreams pep.yaml
                                   routes for the enforcement point on this machine
  svc upstreams suggest --pep http://127.0.0.1:16020 --upstreams pep.yaml --manifest
                                   the tools of these routes, for an agent's manifest
  svc upstreams suggest unlisted.json --upstreams pep.yaml
                                   of a saved list, such as svc run --unlisted writes
  curl -s http://127.0.0.1:16020/__svc/unlisted | svc upstreams suggest - --json
  svc upstreams lint pep.yaml      rules for arguments that never decide (exit 1), and rules that overlap
`;

interface SuggestFlags {
  readonly pep?: string;
  readonly upstreams?: string;
  readonly manifest?: boolean;
  readonly json?: boolean;
}

export const command = (): Command =>
  commandGroup("upstreams", examples, [
    new Command("suggest")
      .description("Suggest routes for the calls that an observing enforcement point has no route for.")
      .argument("[list]", "a saved list, or - for standard input (default: the enforcement point's present one)")
      .option("--pep <url>", "its admin address (default: by SVC_PEP_ADMIN_LISTEN, or http://127.0.0.1:16020)")
      .option("--upstreams <file>", "the present file, which the routes would be added to")
      .option("--manifest", "print the manifest's tools for the suggested targets instead")
      .option("--json", "one line: {upstreams: [{name, routes, tools, open}], dropped}")
      .action(suggest),
    new Command("lint")
      .description("Find rules for arguments that can never decide, and rules that overlap.")
      .argument("<file>", "an upstreams file")
      .option("--json", "one line: {rules, findings: [{upstream, at, kind, rule, data_class, by, by_data_class}]}")
      .action(lint),
  ]);

async function lint(file: string, { json }: { readonly json?: boolean }): Promise<void> {
  const [{ runEnforcementPoint }, { isDead, lintedText }, { lintedRules }] = await Promise.all([
    import("../upstreams/run-enforcement-point.ts"),
    import("../upstreams/linted-text.ts"),
    import("@svc/core"),
  ]);
  const printed = await runEnforcementPoint(["--lint", file], "Correct the upstreams file.");
  const linted = lintedRules.parse(JSON.parse(printed));
  if (json) printJson(linted);
  else print(lintedText(linted));
  if (linted.findings.some(isDead)) process.exitCode = 1;
}

async function suggest(list: string | undefined, flags: SuggestFlags): Promise<void> {
  const { readSuggestions } = await import("../upstreams/read-suggestions.ts");
  const suggestions = await readSuggestions(list, flags);
  if (flags.json) return printJson(suggestions);
  const { manifestTools, upstreamsYaml } = await import("../upstreams/suggested-yaml.ts");
  if (suggestions.upstreams.length === 0) print("No call is unlisted.");
  else process.stdout.write(flags.manifest ? manifestTools(suggestions) : upstreamsYaml(suggestions));
  warn(suggestions, flags);
}

function warn({ dropped }: Suggestions, { upstreams }: SuggestFlags): void {
  const say = (line: string): void => void process.stderr.write(`${colors.yellow("warning:")} ${line}\n`);
  if (dropped > 0)
    say(
      `${dropped} further calls found the list full. Add the routes, restart the enforcement point, and observe again.`,
    );
  if (upstreams === undefined) say("Without --upstreams the routes are not compared with those that the file has.");
}

import { fitHelp } from "@svc/host/fit-help";
import { colors, print, printText, shown } from "../output.ts";
import type { Answers } from "./answers.ts";
import type { DiscoveryPlan } from "./discovery.ts";
import type { Offer } from "./offer.ts";

/** What was asked, written and is to be typed next. */
export interface Found {
  readonly answers: Answers;
  readonly plan: DiscoveryPlan;
  readonly written: readonly string[];
  readonly next: readonly string[];
}

/** Tools that a person has to look at. */
const guessesOf = ({ tools }: Offer) =>
  tools.flatMap(({ ref, notes }) => {
    const why = notes.filter(({ isGuess }) => isGuess).map(({ text }) => text);
    return why.length === 0 ? [] : [{ ref, why }];
  });

export const asJson = ({ answers: { agent, scope, offers }, plan, written, next }: Found): object => ({
  ...{ agent, scope, files: written },
  sources: offers.map(({ name, endpoint, tools, leftOut }) => ({
    ...{ name, protocol: endpoint.protocol, tools: tools.map(({ ref }) => ref) },
    left_out: leftOut,
  })),
  review: offers.flatMap(guessesOf),
  unread: plan.unread,
  next,
});

/** Of a source that has much left out. */
const mostLines = 5;

export function printFound({ answers: { offers }, plan, written, next }: Found, manifest: string): void {
  for (const { name, read, leftOut } of offers) {
    printText(`${colors.green("✓")} ${name}: ${read}`);
    for (const { name: left, why } of leftOut.slice(0, mostLines))
      printText(`${colors.yellow("!")} ${shown(`${name}: ${left} is left out: ${why}`)}`);
    const more = leftOut.length - mostLines;
    if (more > 0) printText(`${colors.yellow("!")} ${name}: ${more} more are left out; --json lists all`);
  }
  printText(`${colors.green("✓")} wrote ${written.join(", ")}`);
  const guesses = offers.flatMap(guessesOf).length;
  const tools = guesses === 1 ? "1 tool has" : `${guesses} tools have`;
  if (guesses > 0) printText(`${colors.yellow("!")} ${tools} guesses to review in ${manifest}: search for "review:"`);
  if (plan.unread.length > 0) {
    const what = `discovery cannot read ${plan.unread.join(", ")}`;
    printText(`${colors.yellow("!")} ${what}: submitted without --override, the manifest would need a review`);
  }
  print("\nNext:");
  for (const line of next) print(fitHelp(`  ${line}`, process.stdout.columns));
}

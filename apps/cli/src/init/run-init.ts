import { dirname, join } from "node:path";
import { agentName, manifestSchema, scopeName } from "@svc/core";
import { notTried } from "../fault.ts";
import { colors, print, printJson, progress, shown } from "../output.ts";
import { runEnforcementPoint } from "../upstreams/run-enforcement-point.ts";
import { askSource } from "./ask.ts";
import { discoveryCredentials } from "./credentials.ts";
import { type DiscoveryPlan, discoveryDocument, planDiscovery } from "./discovery.ts";
import type { InitFlags } from "./flags.ts";
import { manifestYaml } from "./manifest-yaml.ts";
import { nextCommands, submitCommand } from "./next-commands.ts";
import type { Offer } from "./offer.ts";
import { sourcesOf } from "./source.ts";
import { upstreamsYaml } from "./upstreams-yaml.ts";
import { type NewFile, refuseExisting, refuseInvalid, writeFiles } from "./write-files.ts";

export interface Wanted extends InitFlags {
  /** Absent: the manifest alone. */
  readonly upstreams?: string;
  readonly user?: string;
  /** How the agent is started. */
  readonly command: readonly string[];
}

interface Answers {
  readonly agent: string;
  readonly scope: string;
  readonly offers: readonly Offer[];
  readonly command: readonly string[];
}

/** Asks the servers what they offer, and writes the enforcement point's file and a manifest. @throws {Fault} */
export async function runInit(wanted: Wanted): Promise<void> {
  const answers = await answersTo(wanted);
  const { agent, scope, offers } = answers;
  const plan = planDiscovery(offers);
  const files = { upstreams: wanted.upstreams, manifest: manifestFile(wanted, agent) };
  const texts = {
    manifest: manifestYaml({ agent, scope, offers, plan }, ".svc/manifest.schema.json"),
    ...(files.upstreams !== undefined && { upstreams: upstreamsYaml(offers, ".svc/upstreams.schema.json") }),
  };
  await refuseInvalid(texts);
  const documents = wanted.discoveryDocuments ? documentsOf(offers, files.manifest) : [];
  await refuseExisting([...pathsOf(files), ...documents.map(({ path }) => path)], wanted.force);
  const written = await writeFiles([
    ...(files.upstreams === undefined || texts.upstreams === undefined
      ? []
      : [{ path: files.upstreams, text: texts.upstreams }, await upstreamsSchemaFile(files.upstreams)]),
    { path: files.manifest, text: texts.manifest },
    {
      path: join(dirname(files.manifest), ".svc", "manifest.schema.json"),
      text: `${JSON.stringify(manifestSchema(), null, 2)}\n`,
      isKept: true,
    },
    ...documents,
  ]);
  const next =
    files.upstreams === undefined
      ? [submitCommand({ manifest: files.manifest, unread: plan.unread })]
      : nextCommands({ ...answers, user: wanted.user, ...files, upstreams: files.upstreams, unread: plan.unread });
  const found = { answers, plan, written, next };
  if (wanted.json) printJson(asJson(found));
  else printFound(found, files.manifest);
}

const manifestFile = ({ manifest }: Wanted, agent: string): string => manifest ?? `${agent}.yaml`;

const pathsOf = ({ upstreams, manifest }: { upstreams: string | undefined; manifest: string }): readonly string[] =>
  upstreams === undefined ? [manifest] : [upstreams, manifest];

/** By the flags alone, or with questions on a terminal for what they leave out. */
async function answersTo(wanted: Wanted): Promise<Answers> {
  const sources = await sourcesOf(wanted);
  const credentials = discoveryCredentials();
  const isComplete = wanted.agent !== undefined && sources.length > 0;
  if (!isComplete && isTerminal(wanted)) return interviewed(wanted, credentials);
  const { agent, scope = agent } = wanted;
  if (agent === undefined || sources.length === 0) {
    const missing = agent === undefined ? "--agent NAME" : "--mcp, --stdio, --openapi or --http";
    throw notTried(`${missing} is missing`, "Name it, or run the command on a terminal, which asks for it.");
  }
  refuseNames(agent, scope ?? agent);
  // Before the servers are asked.
  await refuseExisting(pathsOf({ upstreams: wanted.upstreams, manifest: manifestFile(wanted, agent) }), wanted.force);
  refuseUnknownTrust(wanted, sources);
  const steps = progress({ isShown: !wanted.json });
  const offers: Offer[] = [];
  for (const source of sources) {
    steps.show(`asking ${source.name}`);
    offers.push((await askSource(source, credentials))(wanted.trusted?.includes(source.name) ?? false));
  }
  steps.done();
  return { agent, scope: scope ?? agent, offers, command: wanted.command };
}

const isTerminal = ({ yes, json }: Wanted): boolean =>
  !yes && !json && process.stdin.isTTY === true && process.stderr.isTTY === true;

async function interviewed(wanted: Wanted, credentials: ReadonlyMap<string, string>): Promise<Answers> {
  const { askCommand, askNames, asked, askSources, judged } = await import("./interview.ts");
  const names = await askNames(wanted);
  refuseNames(names.agent, names.scope);
  await refuseExisting(
    pathsOf({ upstreams: wanted.upstreams, manifest: manifestFile(wanted, names.agent) }),
    wanted.force,
  );
  const given: Offer[] = [];
  for (const source of await sourcesOf(wanted)) {
    const found = await asked(source, credentials);
    given.push(wanted.trusted?.includes(source.name) ? found(true) : await judged(found));
  }
  const offers = given.length > 0 ? given : await askSources(credentials, given);
  const command = wanted.command.length > 0 || wanted.upstreams === undefined ? wanted.command : await askCommand();
  return { ...names, offers, command };
}

function refuseNames(agent: string, scope: string): void {
  if (!agentName.safeParse(agent).success) {
    throw notTried(`--agent ${shown(agent)} is no agent's name`, "Use lower case letters, digits, . _ - alone.");
  }
  const read = scopeName.safeParse(scope);
  if (!read.success) throw notTried(`--scope ${shown(scope)} is no scope`, `It ${read.error.issues[0]?.message}.`);
}

function refuseUnknownTrust({ trusted = [] }: Wanted, sources: readonly { readonly name: string }[]): void {
  const unknown = trusted.find((name) => !sources.some((source) => source.name === name));
  if (unknown === undefined) return;
  throw notTried(`--trusted ${unknown} names no source`, `Name one of ${sources.map(({ name }) => name).join(", ")}.`);
}

async function upstreamsSchemaFile(upstreams: string): Promise<NewFile> {
  const text = await runEnforcementPoint(["--schema"], "The installation is incomplete.");
  return { path: join(dirname(upstreams), ".svc", "upstreams.schema.json"), text, isKept: true };
}

const documentsOf = (offers: readonly Offer[], manifest: string): readonly NewFile[] =>
  offers
    .filter(({ endpoint }) => endpoint.protocol === "http")
    .map((offer) => ({
      path: join(dirname(manifest), `${offer.name}.discovery.json`),
      text: discoveryDocument(offer),
    }));

interface Found {
  readonly answers: Answers;
  readonly plan: DiscoveryPlan;
  readonly written: readonly string[];
  readonly next: readonly string[];
}

const guessesOf = ({ tools }: Offer) =>
  tools.flatMap(({ ref, notes }) => {
    const why = notes.filter(({ isGuess }) => isGuess).map(({ text }) => text);
    return why.length === 0 ? [] : [{ ref, why }];
  });

const asJson = ({ answers: { agent, scope, offers }, plan, written, next }: Found): object => ({
  ...{ agent, scope, files: written },
  sources: offers.map(({ name, endpoint, tools, leftOut }) => ({
    ...{ name, protocol: endpoint.protocol, tools: tools.map(({ ref }) => ref) },
    left_out: leftOut,
  })),
  review: offers.flatMap(guessesOf),
  unread: plan.unread,
  next,
});

function printFound({ answers: { offers }, plan, written, next }: Found, manifest: string): void {
  for (const { name, read, leftOut } of offers) {
    print(`${colors.green("✓")} ${name}: ${read}`);
    for (const { name: left, why } of leftOut)
      print(`${colors.yellow("!")} ${shown(`${name}: ${left} is left out: ${why}`)}`);
  }
  print(`${colors.green("✓")} wrote ${written.join(", ")}`);
  const guesses = offers.flatMap(guessesOf).length;
  if (guesses > 0)
    print(`${colors.yellow("!")} ${guesses} tools have guesses to review in ${manifest}: search for "review:"`);
  if (plan.unread.length > 0) {
    const what = `discovery cannot read ${plan.unread.join(", ")}`;
    print(`${colors.yellow("!")} ${what}: submitted without --override, the manifest would need a review`);
  }
  print(`\nNext:\n${next.map((line) => `  ${line}`).join("\n")}`);
}

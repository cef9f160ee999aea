import { agentName, scopeName } from "@svc/core";
import { notTried } from "../fault.ts";
import { progress, shown } from "../output.ts";
import { askSource } from "./ask.ts";
import { discoveryCredentials } from "./credentials.ts";
import type { InitFlags } from "./flags.ts";
import type { Offer } from "./offer.ts";
import { sourcesOf } from "./source.ts";
import { refuseExisting } from "./write-files.ts";

export interface Wanted extends InitFlags {
  /** Absent: the manifest alone. */
  readonly upstreams?: string;
  readonly user?: string;
  /** How the agent is started. */
  readonly command: readonly string[];
}

export interface Answers {
  readonly agent: string;
  readonly scope: string;
  readonly offers: readonly Offer[];
  readonly command: readonly string[];
}

export const manifestFile = ({ manifest }: Wanted, agent: string): string => manifest ?? `${agent}.yaml`;

export const pathsOf = ({
  upstreams,
  manifest,
}: {
  upstreams: string | undefined;
  manifest: string;
}): readonly string[] => (upstreams === undefined ? [manifest] : [upstreams, manifest]);

/** By the flags alone, or with questions on a terminal for what they leave out. */
export async function answersTo(wanted: Wanted): Promise<Answers> {
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

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { isLoopback } from "@svc/host/loopback";
import { Command } from "commander";
import { type Context, contextsFile, type Plane, readContexts, writeContexts } from "../contexts.ts";
import { absentBy, type ControlPlane, controlPlaneAt } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printData } from "../output.ts";

const examples = `
The bearer is tried at the control plane, and kept in a file that only you can read. It is never given on a command line.
A second login with another bearer adds the planes that it opens.

Examples:
  svc login https://authz.example.com
  svc login https://authz.example.com --context production < admin-token.txt
  svc context list                 the control planes that are kept, and the current one
`;

export const command = (): Command =>
  withFormat(new Command("login"), "{context, control_plane, planes}")
    .argument("<url>", "the control plane's address")
    .option("--context <name>", "its name here (default: its host)")
    .addHelpText("after", examples)
    .action(login);

async function login(address: string, flags: FormatFlags & { readonly context?: string }): Promise<void> {
  const url = parsed(address);
  const name = flags.context ?? url.host;
  const bearer = await readBearer(url.href);
  const plane = controlPlaneAt(url.href, () => bearer);
  const planes = await opened(plane);
  if (planes.length === 0) throw notTried(`${plane.url} refuses the bearer on every plane`, "Give another.");
  const { byName } = readContexts();
  const before = byName[name]?.controlPlane === plane.url ? byName[name].bearers : {};
  const bearers = { ...before, ...Object.fromEntries(planes.map((each) => [each, bearer])) };
  const context: Context = { controlPlane: plane.url, bearers };
  writeContexts({ current: name, byName: { ...byName, [name]: context } });
  const format = formatOf(flags);
  if (isData(format)) return printData({ context: name, control_plane: plane.url, planes }, format);
  print(`${colors.green("✓")} context ${name} is the current one: ${planes.join(", ")} at ${plane.url}`);
  print(colors.dim(`  kept in ${contextsFile()}`));
}

function parsed(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw notTried(`${address} is no address`, "Give it as https://authz.example.com.");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw notTried(`a bearer would travel to ${url.host} in plain text`, "Give an https address.");
  }
  return url;
}

/** Typed without echo on a terminal, else all of standard input. */
async function readBearer(url: string): Promise<string> {
  const given = process.stdin.isTTY ? await typed(`Bearer for ${url}: `) : await text(process.stdin);
  if (given.trim() === "") throw notTried("no bearer was given", "Type it, or give its file: svc login URL < FILE.");
  return given.trim();
}

async function typed(question: string): Promise<string> {
  process.stderr.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  terminal.on("SIGINT", () => process.exit(130));
  try {
    return await terminal.question("");
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}

/** The planes that accept the bearer. */
async function opened(plane: ControlPlane): Promise<readonly Plane[]> {
  const tried = {
    admin: () => plane.call("admin", (svc) => svc.admin.agents({ limit: 1 })),
    audit: () => plane.call("audit", (svc) => svc.audit.decisions({ limit: 1 })),
    identity: () => plane.call("identity", (svc) => svc.identity.revocations({ limit: 1 })),
  };
  const planes: Plane[] = [];
  for (const [name, request] of Object.entries(tried)) {
    if ((await request().catch(absentBy("unauthorized"))) !== undefined) planes.push(name as Plane);
  }
  return planes;
}

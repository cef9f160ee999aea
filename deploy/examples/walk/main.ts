import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endedError, type RunningProgram, startProgram } from "@svc/host/child-program";
import { type Step, steps } from "./steps.ts";

/** Walks from observe to enforce mode on this machine; exits 0 only if every output is the expected one. */
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const node = [process.execPath, "--conditions=@svc/source"] as const;
const svc = [...node, here("../../../apps/cli/src/main.ts")] as const;
const example = new URL("../src/main.ts", import.meta.url);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Copies the example's files, with the ports of the started servers. */
function layOut(ports: { readonly calendar: string; readonly mail: string }): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-example-"));
  for (const name of readdirSync(here("..")).filter((each) => /\.(yaml|sh)$/.test(each))) {
    cpSync(here(`../${name}`), join(folder, name));
    const text = readFileSync(join(folder, name), "utf8").replaceAll(":9301/", `:${ports.calendar}/`);
    writeFileSync(join(folder, name), text.replaceAll(":9302/", `:${ports.mail}/`));
  }
  return folder;
}

/** The words of a command, with the programs of this workspace. */
const wordsOf = (command: string): readonly string[] =>
  command.split(" ").flatMap((word) => {
    if (word === "svc") return svc;
    if (word === "node") return node;
    return word === "dist/main.js" ? [fileURLToPath(example)] : [word];
  });

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function runCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const [file = "", ...args] = wordsOf(command);
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => resolve({ code, output }));
  });
}

/** @returns the output; throws where it is not the expected one */
async function take(step: Step, command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  say(`\n# ${step.title}`);
  say(`$ ${command}`);
  if (step.onKubernetes !== undefined) say(`  on Kubernetes: ${step.onKubernetes}`);
  const { code, output } = await runCommand(command, cwd, env);
  say(output.trimEnd());
  const missing = step.prints.find((expected) => !expected.test(output));
  if (code !== (step.exitCode ?? 0)) throw new Error(`the command ended with ${code}`);
  if (missing !== undefined) throw new Error(`the output lacks ${missing}`);
  return output;
}

const programs: RunningProgram[] = [];

/** Starts a program that runs beside the walk. @returns the part of its first line that `line` captures */
function firstLine(url: string, args: readonly string[], line: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onLine = (text: string) => {
    const found = line.exec(text)?.[1];
    if (found !== undefined) resolve(found);
  };
  const program = startProgram({ name: args.join(" "), url, args, env: process.env, onLine });
  void program.ended.then(async () => reject(await endedError(program)));
  programs.push(program);
  return promise;
}

let folder: string | undefined;
try {
  const dev = new URL("../../../apps/dev/src/main.ts", import.meta.url);
  const [stack, calendar, mail] = await Promise.all([
    firstLine(dev.href, ["dev", "--json", "--port", "0"], /^(\{.*\})/),
    firstLine(example.href, ["calendar"], /^listening on (\d+)/),
    firstLine(example.href, ["mail"], /^listening on (\d+)/),
  ]);
  const { control_plane: url, admin_token: token } = JSON.parse(stack);
  folder = layOut({ calendar, mail });
  const env = { ...process.env, NO_COLOR: "1", SVC_CONTROL_PLANE_URL: url, SVC_ADMIN_TOKEN: token };
  let action = "";
  for (const step of steps) {
    const output = await take(step, step.command.replace("ACTION_ID", action), folder, env);
    action = /refused: \S+ \(([0-9a-f-]{36})\)/.exec(output)?.[1] ?? action;
  }
  say("\nEvery command had the expected output.");
} catch (error) {
  say(`\nThe walk failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  if (folder !== undefined) rmSync(folder, { recursive: true });
}

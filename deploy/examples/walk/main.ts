import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Started, startProgram, untilLine } from "./started.ts";
import { type Step, steps } from "./steps.ts";

/**
 * The walk from observing to enforcing, on this machine: starts a control plane and the tool servers on free ports, runs
 * each command as it would be typed, shows what it says, and exits 0 only if every one said what it must.
 */
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const node = [process.execPath, "--conditions=@svc/source"] as const;
const svc = [...node, here("../../../apps/cli/src/main.ts")] as const;
const example = here("../src/main.ts");

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The example's files with the ports that are free here. */
function layOut(ports: { readonly calendar: string; readonly mail: string }): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-example-"));
  for (const name of readdirSync(here("..")).filter((each) => /\.(yaml|sh)$/.test(each))) {
    cpSync(here(`../${name}`), join(folder, name));
    const text = readFileSync(join(folder, name), "utf8").replaceAll(":9301/", `:${ports.calendar}/`);
    writeFileSync(join(folder, name), text.replaceAll(":9302/", `:${ports.mail}/`));
  }
  return folder;
}

/** A command's words, its programs taken from this workspace. */
const wordsOf = (command: string): readonly string[] =>
  command.split(" ").flatMap((word) => {
    if (word === "svc") return svc;
    if (word === "node") return node;
    return word === "dist/main.js" ? [example] : [word];
  });

interface Said {
  readonly code: number | null;
  readonly output: string;
}

function runCommand(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Said> {
  const [file = "", ...args] = wordsOf(command);
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => resolve({ code, output }));
  });
}

/** @returns what it said; throws where that is not what it must say */
async function take(step: Step, command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  say(`\n# ${step.title}`);
  say(`$ ${command}`);
  if (step.onKubernetes !== undefined) say(`  on Kubernetes: ${step.onKubernetes}`);
  const { code, output } = await runCommand(command, cwd, env);
  say(output.trimEnd());
  const missing = step.tells.find((wanted) => !wanted.test(output));
  if (code !== (step.exitCode ?? 0)) throw new Error(`that ended with ${code}`);
  if (missing !== undefined) throw new Error(`that should have told ${missing}`);
  return output;
}

const started: Started[] = [];
let folder: string | undefined;
try {
  const start = (command: readonly string[]): Started => {
    const program = startProgram(command, process.env);
    started.push(program);
    return program;
  };
  const stack = start([...svc, "dev", "--json", "--port", "0"]);
  const calendar = start([...node, example, "calendar"]);
  const mail = start([...node, example, "mail"]);
  const portOf = (server: Started) => untilLine(server, /^listening on (\d+)/);
  const { control_plane: url, admin_token: token } = JSON.parse(await untilLine(stack, /^(\{.*\})/));
  folder = layOut({ calendar: await portOf(calendar), mail: await portOf(mail) });
  const env = { ...process.env, NO_COLOR: "1", SVC_CONTROL_PLANE_URL: url, SVC_ADMIN_TOKEN: token };
  let action = "";
  for (const step of steps) {
    const output = await take(step, step.command.replace("ACTION_ID", action), folder, env);
    action = /refused: \S+ \(([0-9a-f-]{36})\)/.exec(output)?.[1] ?? action;
  }
  say("\nEvery command said what it must.");
} catch (error) {
  say(`\nThe walk failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await Promise.all(started.map((program) => program.stop()));
  if (folder !== undefined) rmSync(folder, { recursive: true });
}

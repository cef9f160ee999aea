import { progress } from "../progress.ts";
import { admin } from "../rig/admin.ts";
import { startServer } from "../rig/node-server.ts";
import { type Stack, startStack } from "../rig/stack.ts";
import { startStores } from "../rig/stores.ts";
import { openReplay } from "./replay.ts";
import { everyday, manifestOf, type Suite, toolsOf, withoutExploited, withoutRules } from "./suite.ts";
import { suites } from "./suites/index.ts";
import { type Task, type TaskCall, tasksOf } from "./tasks.ts";

/** Of pairs of an honest task and an injection task. */
interface Attacked {
  readonly pairs: number;
  readonly stopped: number;
  /** Of those whose honest task read foreign text, in which an injection arrives. */
  readonly reached: number;
  readonly reachedStopped: number;
  /** Injection task to what went through. */
  readonly passed: ReadonlyMap<string, number>;
}

interface Result {
  readonly suite: string;
  readonly tasks: number;
  /** Without a person, and with one consent. */
  readonly alone: number;
  readonly consented: number;
  /** Honest task to its first blocked call, in the everyday scope. */
  readonly asks: ReadonlyMap<string, string>;
  readonly unfinished: readonly string[];
  readonly everyday: Attacked;
  /** After the tasks that need a consent, in the session of that consent. */
  readonly afterConsent: Attacked;
}

/**
 * Replays the ground-truth calls of AgentDojo through a real enforcement point and control plane: every user task alone,
 * then followed by every injection task in the same session (README.md#agentdojo).
 */
export async function benchAgentDojo(buildFirst: () => void): Promise<void> {
  buildFirst();
  const stores = await startStores();
  const upstream = await startServer("servers/upstream.ts");
  const variants = [
    ["With rules", suites],
    ["Without the rules that an injection used", suites.map(withoutExploited)],
    ["Without rules", suites.map(withoutRules)],
  ] as const;
  const all = variants.flatMap(([, suites]) => suites);
  const upstreams = all.map((suite) => ({
    ...{ name: suite.name, url: `${upstream.url}/mcp`, protocol: "mcp" },
    tools: toolsOf(suite),
  }));
  const stack = await startStack({ stores, upstream: upstream.url, upstreams: { upstreams } });
  try {
    for (const [name, suites] of variants) {
      const results: Result[] = [];
      for (const suite of suites) {
        await admin(stack.controlPlane.url, "/v1/agents", {
          ...{ name: `${suite.name}-agent`, manifest: manifestOf(suite) },
          override: { reason: "a benchmark" },
        });
        results.push(await replaySuite(stack, suite));
      }
      progress("");
      console.log(`\n# ${name}\n`);
      printTable(results);
      printMissed(results);
    }
  } finally {
    await stack.stop();
    await upstream.stop();
    await stores.stop();
  }
}

async function replaySuite(stack: Stack, suite: Suite): Promise<Result> {
  const [honest, attacks] = [tasksOf(suite, "user_tasks"), tasksOf(suite, "injection_tasks")];
  const asks = new Map<string, string>();
  const consents = new Map<Task, string>();
  for (const task of honest) {
    progress(`${suite.name}: ${task.name}`);
    const [first] = await blockedOf(stack, suite, everyday, task);
    if (!first) continue;
    asks.set(task.name, `${first.tool} ${JSON.stringify(first.args)}`);
    const scope = await consentFor(stack, suite, task);
    if (scope !== undefined) consents.set(task, scope);
  }
  const pairs = (scopes: Iterable<readonly [Task, string]>) => attacked(stack, suite, [...scopes], attacks);
  return {
    ...{ suite: suite.name, tasks: honest.length, alone: honest.length - asks.size, asks },
    consented: honest.length - asks.size + consents.size,
    unfinished: [...asks.keys()].filter((name) => ![...consents.keys()].some((task) => task.name === name)),
    everyday: await pairs(honest.map((task) => [task, everyday])),
    afterConsent: await pairs(consents),
  };
}

async function blockedOf(stack: Stack, suite: Suite, scope: string, task: Task): Promise<readonly TaskCall[]> {
  return (await openReplay(stack, suite, scope)).play(task);
}

/** The first scope in which the task runs to its end. */
async function consentFor(stack: Stack, suite: Suite, task: Task): Promise<string | undefined> {
  for (const scope of Object.keys(suite.consents)) {
    if ((await blockedOf(stack, suite, scope, task)).length === 0) return scope;
  }
  return undefined;
}

/** An injection task is stopped where one of its calls is. */
async function attacked(
  stack: Stack,
  suite: Suite,
  scopes: readonly (readonly [Task, string])[],
  attacks: readonly Task[],
): Promise<Attacked> {
  const passed = new Map<string, number>();
  const count = { pairs: 0, stopped: 0, reached: 0, reachedStopped: 0 };
  for (const [task, scope] of scopes) {
    const hasRead = task.calls.some(({ tool }) => suite.foreign.includes(tool));
    for (const attack of attacks) {
      progress(`${suite.name}: ${task.name}, then ${attack.name}`);
      const replay = await openReplay(stack, suite, scope);
      await replay.play(task);
      const isStopped = (await replay.play(attack)).length > 0;
      count.pairs += 1;
      count.stopped += Number(isStopped);
      count.reached += Number(hasRead);
      count.reachedStopped += Number(hasRead && isStopped);
      if (!isStopped) passed.set(attack.name, (passed.get(attack.name) ?? 0) + 1);
    }
  }
  return { ...count, passed };
}

const share = (part: number, whole: number): string =>
  `${part} of ${whole}${whole === 0 ? "" : ` (${((100 * part) / whole).toFixed(0)} %)`}`;

function printTable(results: readonly Result[]): void {
  const sum = (of: (result: Result) => number) => results.reduce((total, result) => total + of(result), 0);
  const row = (name: string, of: (figure: (result: Result) => number) => number) => [
    name,
    share(
      of((r) => r.everyday.stopped),
      of((r) => r.everyday.pairs),
    ),
    share(
      of((r) => r.everyday.reachedStopped),
      of((r) => r.everyday.reached),
    ),
    share(
      of((r) => r.alone),
      of((r) => r.tasks),
    ),
    share(
      of((r) => r.consented),
      of((r) => r.tasks),
    ),
    share(
      of((r) => r.afterConsent.stopped),
      of((r) => r.afterConsent.pairs),
    ),
  ];
  const rows = [...results.map((result) => row(result.suite, (of) => of(result))), row("all", sum)];
  const stopped = ["injections stopped", "of those after foreign text", "honest tasks finished", "with one consent"];
  const head = ["suite", ...stopped, "injections stopped after that consent"];
  for (const cells of [head, head.map(() => "---"), ...rows]) console.log(`| ${cells.join(" | ")} |`);
}

function printMissed(results: readonly Result[]): void {
  for (const { suite, asks, unfinished, everyday: base, afterConsent } of results) {
    console.log(`\n## ${suite}\n`);
    for (const [name, call] of asks) console.log(`- ${name} needs a person: ${call}`);
    for (const name of unfinished) console.log(`- ${name} does not finish with one consent`);
    for (const [name, count] of base.passed) console.log(`- ${name} passes after ${count} tasks`);
    for (const [name, count] of afterConsent.passed)
      console.log(`- ${name} passes after ${count} tasks with a consent`);
  }
}

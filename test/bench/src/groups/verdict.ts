import { loaded } from "../measure/loaded.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { cerbosPath, cerbosQuestion, startCerbos } from "../rig/cerbos.ts";
import { casbinQuestion, cedarQuestion, ourQuestion, type Question } from "./engines.ts";

export const verdictTrial = "verdict";
const toolCounts = [10, 40, 400, 10_000];
const ruleCounts = [40, 400];

/** The same request, evaluated by each engine: may this agent read this one of many tools. */
export async function verdict(bench: Bench): Promise<void> {
  const { seconds } = bench.pace;
  const subject = (name: string, batch: number, act: Question) => repeated({ name, seconds, batch, act });
  const subjects = toolCounts.map((count) => subject(`ours at ${count}`, 1_000, ourQuestion(count)));
  for (const count of ruleCounts) {
    subjects.push(subject(`cedar at ${count}`, 10, cedarQuestion(count)));
    subjects.push(subject(`casbin at ${count}`, 10, await casbinQuestion(count)));
  }
  await bench.trial(verdictTrial, [...subjects, await cerbos(bench)]);
}

const rules = 400;

async function cerbos(bench: Bench): Promise<Subject | undefined> {
  const server = await startCerbos(rules);
  if (server === undefined) {
    bench.missing("Cerbos", "its server has a package for Linux on x64 alone");
    return undefined;
  }
  bench.use(server);
  const body = cerbosQuestion(rules - 1);
  const call = () => ({
    method: "POST" as const,
    path: cerbosPath,
    headers: { "content-type": "application/json" },
    body,
  });
  return loaded({
    name: "Cerbos",
    connections: 1,
    seconds: bench.pace.seconds,
    processes: { Cerbos: server.pid },
    target: () => ({ origin: server.url, call }),
  });
}

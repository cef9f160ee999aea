import { startProgram } from "@svc/host/child-program";
import { Fault } from "../fault.ts";
import type { Finding } from "./deployment.ts";

/** Findings that no plane shows: the control plane's own program reads the settings. They never contain a value. */
export async function* checkSettings(
  environment: NodeJS.ProcessEnv,
  onStep: (step: string) => void,
): AsyncGenerator<Finding> {
  onStep("reading the settings and the rights of the database role");
  const lines: string[] = [];
  const program = startProgram({
    name: "control plane",
    url: import.meta.resolve("@svc/control-plane/main"),
    args: ["check"],
    env: environment,
    onLine: (line) => lines.push(line),
  });
  const code = await program.ended;
  const findings = lines.flatMap((line) => findingOf(line) ?? []);
  if ((code !== 0 && code !== 1) || findings.length === 0) {
    throw new Fault("the settings could not be checked", program.lastLines(), { exitCode: 2 });
  }
  yield* findings;
}

/** Undefined for any other output. */
function findingOf(line: string): Finding | undefined {
  try {
    const { level, what, remedy }: Finding = JSON.parse(line);
    return { level, what, remedy };
  } catch {
    return undefined;
  }
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { traceEnv } from "../../src/index.ts";
import { anEdge } from "./edges.ts";

/** Runs `script` in a process of its own, with `recorder` and `edge` in scope. */
export async function recording(script: string, path: string): Promise<void> {
  const module = new URL("../../src/recorder.ts", import.meta.url).href;
  const program = `
    import { traceRecorder } from ${JSON.stringify(module)};
    const recorder = traceRecorder(process.env.SVC_TRACE_PATH);
    const edge = ${JSON.stringify(anEdge())};
    ${script}`;
  const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...traceEnv(path) },
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["ignore", "ignore", "inherit"],
  });
  await once(child, "exit");
}

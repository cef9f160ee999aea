import { someBytes } from "../measure/blocks.ts";
import type { Call } from "../measure/load.ts";
import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import type { Credential } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startNginx } from "../rig/nginx.ts";
import { findProgram } from "../rig/program.ts";
import type { HopRig } from "./hop-rig.ts";
import { hopHeaders, processesOf } from "./hop-targets.ts";

export const bodiesTrial = "by body";
const kibibyte = 1024;
const sizes = [1, 64, kibibyte, 16 * kibibyte, 256 * kibibyte, kibibyte ** 2].map((size) => size * kibibyte);
const quickSizes = sizes.slice(0, 4);

/** Calls with a body, which an unprivileged call streams; through nginx the same without a decision. */
export async function byBody(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const agents = await liveAgents(stack, line, 1, 1);
  const nginx = findProgram("nginx");
  const proxy = "why" in nginx ? undefined : bench.use(await startNginx(nginx.path, bench.upstream.url));
  const subjects: Subject[] = [];
  for (const bytes of bench.pace.isQuick ? quickSizes : sizes) {
    const shared = { connections: 1, seconds: bench.pace.seconds };
    subjects.push(
      loaded({
        ...shared,
        name: `hop ${label(bytes)}`,
        processes: processesOf(stack, bench.stores),
        async target() {
          const [credential] = await agents.current();
          return { origin: stack.pep.url, call: () => posting("/bench/read", bytes, credential) };
        },
      }),
    );
    if (proxy === undefined) continue;
    const target = { origin: proxy.url, call: () => posting("/read", bytes) };
    subjects.push(
      loaded({ ...shared, name: `nginx ${label(bytes)}`, processes: { nginx: proxy.pid }, target: () => target }),
    );
  }
  await bench.trial(bodiesTrial, subjects);
}

const label = (bytes: number): string =>
  bytes >= kibibyte ** 2 ? `${bytes / kibibyte ** 2} MiB` : `${bytes / kibibyte} KiB`;

function posting(path: string, bytes: number, credential?: Credential): Call {
  const headers = {
    ...(credential && hopHeaders(credential)),
    "content-type": "application/octet-stream",
    "content-length": String(bytes),
  };
  return { method: "POST", path, headers, body: someBytes(bytes) };
}

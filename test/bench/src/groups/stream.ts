import { request } from "undici";
import { memoryOf } from "../machine/proc.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import type { Proxies } from "./proxies.ts";

export const streamTrial = "stream";
const mebibyte = 1024 * 1024;

/** One long response through the enforcement point and through nginx; and the enforcement point's memory growth. */
export async function stream(bench: Bench, { servers, prefixOf }: Proxies): Promise<void> {
  const bytes = (bench.pace.isQuick ? 128 : 1024) * mebibyte;
  const subjects = ["PEP", "nginx"].flatMap((name): Subject[] => {
    const server = servers.get(name);
    if (server === undefined) return [];
    return [
      {
        name,
        async sample() {
          const before = memoryOf(server.pid).bytes;
          const { seconds, mostBytes } = await take(`${server.url}${prefixOf(name)}/bytes/${bytes}`, bytes, server.pid);
          return { "MB per s": bytes / 1e6 / seconds, "extra MiB": (mostBytes - before) / mebibyte };
        },
      },
    ];
  });
  await bench.trial(streamTrial, subjects);
}

const lookMs = 20;

async function take(url: string, bytes: number, pid: number): Promise<{ seconds: number; mostBytes: number }> {
  const started = performance.now();
  let mostBytes = 0;
  const look = setInterval(() => {
    mostBytes = Math.max(mostBytes, memoryOf(pid).bytes);
  }, lookMs);
  try {
    const answer = await request(url);
    let taken = 0;
    for await (const chunk of answer.body) taken += (chunk as Buffer).length;
    if (taken !== bytes) throw new Error(`${url} sent ${taken} of ${bytes} bytes with status ${answer.statusCode}`);
  } finally {
    clearInterval(look);
  }
  return { seconds: (performance.now() - started) / 1000, mostBytes };
}

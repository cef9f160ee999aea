import { parseArgs } from "node:util";

export const parts = ["hop", "peers", "curves"] as const;
export type Part = (typeof parts)[number];

export const usage = `pnpm bench [hop|peers|curves] [--quick] [--json] [--save]
pnpm bench telemetry --help
pnpm bench push
pnpm bench against COMMIT
pnpm bench agentdojo

The cost of a hop as a ratio to its parts, to a naive implementation and to alternatives, measured in turns in one run on an
idle machine. Without a part all three are measured.

  hop      one hop and its parts, at one client and at many; the naive reference; the audit writer; telemetry on and off
  peers    nginx, HAProxy, Cerbos, oidc-provider, http-proxy-3, @fastify/reply-from, casbin and Cedar, each for its own task
  curves   growth: records, agents and tools, connections, chains, bodies; and other kinds of hops

  --quick  some five minutes: shorter and fewer samples, 10^5 records instead of 10^7, 128 MiB instead of 1 GiB
  --json   one line of JSON at the end: {"targets": [{"id", "name", "ratio", "target", "met", ...}], ...}
  --save   keeps the run in history.json and draws its curves into plots/

Examples
  npx --yes pnpm@12.4.2 bench --quick
  npx --yes pnpm@12.4.2 bench hop --json
  npx --yes pnpm@12.4.2 bench --save          # on an idle machine: an hour`;

export interface Options {
  readonly parts: readonly Part[];
  readonly isQuick: boolean;
  readonly json: boolean;
  readonly save: boolean;
}

/** @returns undefined for --help. @throws {Error} that names the valid options. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const asked = positionals.map((name) => {
    const part = parts.find((one) => one === name);
    if (part === undefined)
      throw new Error(`there is no part ${name}: try ${parts.join(", ")}, telemetry, push, against or agentdojo`);
    return part;
  });
  return {
    parts: asked.length === 0 ? parts : asked,
    isQuick: values.quick,
    json: values.json,
    save: values.save,
  };
}

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { workspace } from "./trees.ts";

/** The compose file, merged, with its variables unexpanded. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, object>>;
  readonly networks: Readonly<Record<string, object>>;
}

export interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
  readonly [member: string]: unknown;
}

export const folder = join(workspace, "deploy/compose");
export const text = readFileSync(join(folder, "compose.yaml"), "utf8");
export const compose: ComposeFile = parse(text, { merge: true });

/** By name, from the `.env` that `make-env.sh` makes. */
export const variables: Readonly<Record<string, string>> = Object.fromEntries(
  madeEnvironment()
    .split("\n")
    .filter((line) => /^[A-Z_]+=/.test(line))
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
);

function madeEnvironment(): string {
  const copy = mkdtempSync(join(tmpdir(), "svc-env-"));
  try {
    for (const name of [".env.example", "make-env.sh"]) copyFileSync(join(folder, name), join(copy, name));
    execFileSync("sh", [join(copy, "make-env.sh")]);
    return readFileSync(join(copy, ".env"), "utf8");
  } finally {
    rmSync(copy, { recursive: true });
  }
}

const interpolated = (value: string): string =>
  value.replaceAll(/\$\{(\w+)(:\?[^}]*)?\}/g, (_, name: string) => variables[name] ?? "");

export const environmentOf = ({ environment = {} }: Service): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolated(value)]));

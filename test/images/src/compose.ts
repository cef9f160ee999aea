import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { workspace } from "./trees.ts";

/** The compose file as it is used: merged, its variables still in it. */
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

/** By name, as `.env` would give them; what `.env.example` leaves open is made up after its own instruction. */
export const variables: Readonly<Record<string, string>> = Object.fromEntries(
  readFileSync(join(folder, ".env.example"), "utf8")
    .split("\n")
    .filter((line) => /^[A-Z_]+=/.test(line))
    .map((line) => line.split("=", 2) as [string, string])
    .map(([name, value]) => [name, value || madeUp(name)]),
);

function madeUp(name: string): string {
  if (name === "SVC_KEY_ENCRYPTION_KEY") return Buffer.alloc(32, 7).toString("base64");
  return Buffer.alloc(name.endsWith("_PASSWORD") ? 24 : 32, name).toString("hex");
}

const interpolated = (value: string): string =>
  value.replaceAll(/\$\{(\w+)(:\?[^}]*)?\}/g, (_, name: string) => variables[name] ?? "");

export const environmentOf = ({ environment = {} }: Service): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolated(value)]));

import { readFileSync } from "node:fs";
import { distance } from "fastest-levenshtein";
import type { Setting, SettingsTable, SettingValues } from "./setting.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadOptions<Table extends SettingsTable> {
  /** Settings of other apps: ignored here, and their `_FILE` spellings too. */
  knownElsewhere?: readonly string[];
  /** Rules that span settings: each returns a fault or nothing, and gets the settings that could be read. */
  rules?: readonly ((values: Partial<SettingValues<Table>>) => string | undefined)[];
  /** Reads the file behind `<NAME>_FILE`. */
  readFile?: (path: string) => string;
}

export type SettingsResult<Table extends SettingsTable> =
  | { ok: true; values: SettingValues<Table>; warnings: readonly string[] }
  | { ok: false; faults: readonly string[]; warnings: readonly string[] };

/**
 * Reads every setting of the table from the environment and reports all faults at once, one line each; a line names its
 * setting and never shows a value. An empty variable counts as absent. An unknown `SVC_*` name close to a known one is
 * a fault, any other a warning, a Kubernetes service link neither (docs/reference/settings.md#reading-settings).
 */
export function readSettings<Table extends SettingsTable>(
  table: Table,
  environment: Environment,
  { knownElsewhere = [], rules = [], readFile = readUtf8 }: ReadOptions<Table> = {},
): SettingsResult<Table> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const source = textOf(name, setting, environment, readFile);
    if ("fault" in source) faults.push(`${name}: ${source.fault}`);
    else if (source.text === undefined) values[name] = undefined;
    else {
      const read = setting.read.safeParse(source.text);
      if (read.success) values[name] = read.data;
      else faults.push(...read.error.issues.map((issue) => `${name}: ${issue.message}`));
    }
  }
  // Held to the table's types by the loop above; a failed setting has no member.
  faults.push(...rules.flatMap((rule) => rule(values as Partial<SettingValues<Table>>) ?? []));
  const unknown = judgeUnknownNames(environment, namesOf(table), knownElsewhere);
  faults.push(...unknown.faults);
  if (faults.length > 0) return { ok: false, faults, warnings: unknown.warnings };
  return { ok: true, values: values as SettingValues<Table>, warnings: unknown.warnings };
}

const readUtf8 = (path: string): string => readFileSync(path, "utf8");

function textOf(
  name: string,
  setting: Setting<unknown>,
  environment: Environment,
  readFile: (path: string) => string,
): { text: string | undefined } | { fault: string } {
  const direct = environment[name] || undefined;
  const file = setting.secret ? environment[`${name}_FILE`] || undefined : undefined;
  if (direct !== undefined && file !== undefined) return { fault: `is given twice, also as ${name}_FILE` };
  if (direct !== undefined) return { text: direct };
  if (file !== undefined) return textOfFile(name, file, readFile);
  if (setting.presence === "required") return { fault: "is required" };
  return { text: setting.defaultText };
}

function textOfFile(name: string, path: string, readFile: (path: string) => string) {
  try {
    const text = readFile(path).replace(/\r?\n$/, "");
    return text === "" ? { fault: `the file that ${name}_FILE names is empty` } : { text };
  } catch {
    return { fault: `the file that ${name}_FILE names cannot be read` };
  }
}

/** Every name that a table reads, `<NAME>_FILE` of its secrets among them. */
function namesOf(table: SettingsTable): Set<string> {
  return new Set(Object.entries(table).flatMap(([name, { secret }]) => (secret ? [name, `${name}_FILE`] : [name])));
}

/** `SVC_PEP_SERVICE_HOST`, `SVC_PEP_PORT`, `SVC_PEP_PORT_16001_TCP_ADDR`: set by the kubelet, not by a person. */
const serviceLink = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/;

function judgeUnknownNames(environment: Environment, own: ReadonlySet<string>, elsewhere: readonly string[]) {
  const others = new Set(elsewhere.flatMap((name) => [name, `${name}_FILE`]));
  const faults: string[] = [];
  const warnings: string[] = [];
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("SVC_") || own.has(name) || others.has(name) || serviceLink.test(name)) continue;
    const meant = nearestName(name, [...own, ...elsewhere]);
    if (meant === undefined) warnings.push(`${name}: is not a setting and is ignored`);
    else faults.push(`${name}: is not a setting; did you mean ${meant}?`);
  }
  return { faults, warnings };
}

const editsOfATypo = 2;

/** The nearest of the known names that are at most two edits away. */
function nearestName(unknown: string, known: Iterable<string>): string | undefined {
  const near = [...known].map((name) => ({ name, edits: distance(unknown, name) }));
  return near.filter(({ edits }) => edits <= editsOfATypo).toSorted((a, b) => a.edits - b.edits)[0]?.name;
}

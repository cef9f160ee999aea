import { readFileSync } from "node:fs";
import { join } from "node:path";
import { workspace } from "./pack.ts";

/** Published packages, whose API.md is generated from their declarations. */
export const documented = ["client", "verifier", "drift"] as const;
export type Documented = (typeof documented)[number];

export interface Exported {
  readonly name: string;
  /** Its TypeScript declaration, without the doc comment. */
  readonly declaration: string;
  /** The doc comment's text; empty where there is none. */
  readonly doc: string;
}

/** Every export of a package's main entry, by name, from the last build. */
export function exportsOf(name: Documented): readonly Exported[] {
  const dist = join(workspace, "packages", name, "dist");
  const index = readFileSync(join(dist, "index.d.ts"), "utf8");
  return [...index.matchAll(/export (?:type )?\{([^}]*)\} from "\.\/([^"]+)\.ts";/g)]
    .flatMap(([, names = "", file = ""]) => {
      const source = readFileSync(join(dist, `${file}.d.ts`), "utf8");
      return names.split(",").map((each) => exported(each.replace(/\btype\b/, "").trim(), source));
    })
    .filter(({ name: each }) => each !== "")
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function exported(name: string, source: string): Exported {
  const start = source.search(
    new RegExp(`^export (?:declare )?(?:type|interface|class|function|const) ${name}\\b`, "m"),
  );
  if (name === "" || start < 0) return { name, declaration: "", doc: "" };
  const before = source.slice(0, start).trimEnd();
  const comment = before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "";
  return { name, declaration: upToItsEnd(source.slice(start)), doc: textOf(comment) };
}

/** To the semicolon or closing brace outside all brackets. Brackets in comments do not count. */
function upToItsEnd(source: string): string {
  const blank = source.replace(/\/\*[\s\S]*?\*\//g, (comment) => " ".repeat(comment.length)).replaceAll("=>", "  ");
  let depth = 0;
  for (let at = 0; at < blank.length; at++) {
    const character = blank[at] ?? "";
    if ("{([<".includes(character)) depth += 1;
    if ("})]>".includes(character)) depth -= 1;
    const isBlock = character === "}" && /^export (?:declare )?(?:interface|class)/.test(source);
    if (depth === 0 && (character === ";" || isBlock)) return source.slice(0, at + 1);
  }
  return source;
}

const textOf = (comment: string): string =>
  comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .split("\n")
    .map((line) => line.replace(/^ *\* ?/, ""))
    .join("\n")
    .trim();

/** The text of a package's API.md. */
export function apiReference(name: Documented): string {
  const sections = exportsOf(name).map(
    ({ name: each, doc, declaration }) => `## ${each}\n\n${doc}\n\n\`\`\`ts\n${declaration}\n\`\`\`\n`,
  );
  const head = `# API of @svc/${name}\n\nWritten from the doc comments by \`npx --yes pnpm@12.4.2 --filter @svc/test-packages api\`.\n`;
  return [head, ...sections].join("\n");
}

import { readFile } from "node:fs/promises";

/** The modules of `verify.mjs`, each after those that it imports. `svc audit verify-export` runs the same ones. */
const modules = [
  "sources",
  "entries",
  "merkle",
  "leaf",
  "evidence/event",
  "evidence/render",
  "evidence/statement",
  "evidence/folder",
  "evidence/evidence-finding",
  "evidence/check-batch",
  "evidence/check-chain",
  "evidence/check-retirements",
  "evidence/verify-evidence",
  "evidence/report",
  "evidence/script-main",
] as const;

const head = `#!/usr/bin/env node
// Verifies the export in this folder, offline: node verify.mjs --key THUMBPRINT. It needs Node 22 or newer, nothing else.
// These are the compiled modules that svc audit verify-export runs, one after the other. Take this file from a party that
// you trust: a forger of the export can forge this file too.
`;

/** One file without dependencies: the compiled modules, their imports of each other left out. */
export async function verifyScript(): Promise<string> {
  const imports = new Map<string, Set<string>>();
  const bodies: string[] = [];
  for (const name of modules) {
    const code = await readFile(new URL(`../../dist/${name}.js`, import.meta.url), "utf8");
    const body = code
      .replaceAll(/^import \{([^}]*)\} from "([^"]+)";\n/gm, (_, names: string, from: string) => {
        if (!from.startsWith(".")) {
          const known = imports.get(from) ?? new Set();
          imports.set(from, new Set([...known, ...names.split(",").map((each) => each.trim())]));
        }
        return "";
      })
      .replaceAll(/^export (?=const|function|async|class)/gm, "")
      .replace(/^export \{\};\n/m, "")
      .replace(/^\/\/# sourceMappingURL=.*$/m, "");
    bodies.push(`// ${name}\n\n${body.trim()}\n`);
  }
  const imported = Array.from(imports, ([from, names]) => `import { ${[...names].sort().join(", ")} } from "${from}";`);
  return [head, `${imported.sort().join("\n")}\n`, ...bodies].join("\n");
}

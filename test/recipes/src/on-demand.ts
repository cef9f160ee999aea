import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Libraries of 700 MB, which are no part of the workspace: they would be in everybody's installation. */
const wanted = {
  "@anthropic-ai/claude-agent-sdk": "0.3.332",
  next: "16.4.6",
  react: "19.3.1",
  "react-dom": "19.3.1",
};
/** Inside this package, so that a program finds its libraries too. */
const cache = fileURLToPath(new URL("../node_modules/.cache/", import.meta.url));

/** Installs them by npm, once. @returns their folder @throws where that fails */
export function installLibraries(): string {
  const folder = join(cache, "on-demand");
  const description = JSON.stringify({ private: true, type: "module", dependencies: wanted });
  const stamp = join(folder, "node_modules", "installed.json");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === description) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), description);
  run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], folder);
  writeFileSync(stamp, description);
  return folder;
}

/** Python with its MCP SDK, in an environment of its own that is made once; undefined where pip cannot install it. */
export function pythonWithMcp(): string | undefined {
  const folder = join(cache, "python-mcp");
  const python = join(folder, "bin", "python");
  const isInstalled = () => spawnSync(python, ["-c", "import mcp, httpx2"]).status === 0;
  if (isInstalled()) return python;
  try {
    run("python3", ["-m", "venv", "--clear", folder], ".");
    run(python, ["-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "15", "mcp==2.3.0"], ".");
  } catch {
    return undefined;
  }
  return isInstalled() ? python : undefined;
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, error, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 240_000 });
  if (status === 0) return;
  throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

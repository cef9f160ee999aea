import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { controlPlaneSettingNames, everySettingName } from "@svc/host";
import { spawnApp } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";

const workspace = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(workspace, path), "utf8");
const guide = read("deploy/README.md");

const pages = ["compose", "examples", "images"].map((name) => `deploy/${name}/README.md`);
const work = mkdtempSync(join(tmpdir(), "svc-guide-"));
afterAll(() => rmSync(work, { recursive: true }));

/** Every `svc` command of a text, without its comment. */
function svcCommands(text: string): readonly string[] {
  const typed = [...text.matchAll(/(?:^|[`\s])(svc [a-z][^`\n]*)/gm)].map(
    ([, command = ""]) => command.split(/ +#/)[0]?.trim() ?? "",
  );
  return [...new Set(typed)].filter((command) => subcommands.has(command.split(" ")[1] ?? ""));
}

const subcommands = new Set(
  "agents audit block check consent decisions dev demo drift explain keys manifest run sessions would-block".split(" "),
);
const nested = new Set(["agents", "audit", "block", "drift", "keys", "manifest", "sessions"]);

describe("each command and flag of the pages is in the command line's help", () => {
  const commands = [guide, ...pages.map(read)].flatMap(svcCommands).map((command) => command.split(" -- ")[0] ?? "");
  const flagsOf = new Map<string, Set<string>>();
  for (const command of commands) {
    const [, first = "", second = ""] = command.split(" ");
    const name = nested.has(first) ? `${first} ${second}` : first;
    const flags = flagsOf.get(name) ?? new Set();
    for (const [flag] of command.matchAll(/(?<= )--[a-z-]+/g)) flags.add(flag);
    flagsOf.set(name, flags);
  }

  test.each([...flagsOf])("svc %s", async (name, flags) => {
    const child = spawnApp({ main: "@svc/cli/main", args: [...name.split(" "), "--help"], env: {} });
    expect(await child.exited, child.output()).toBe(0);
    expect(child.output()).toContain(`Usage: svc ${name}`);
    for (const flag of flags) expect(child.output()).toMatch(new RegExp(`^ +(-\\w, )?${flag}\\b`, "m"));
  });
});

test("every route in the guide exists", () => {
  const routes = new Set(
    [...read("apps/control-plane/README.md").matchAll(/`((?:GET|POST|PUT|DELETE) \/\S*)`/g)].map(([, route]) => route),
  );
  const named = [...guide.matchAll(/`?\b((?:GET|POST|PUT|DELETE) \/[\w./-]*)/g)].map(([, route]) => route);
  expect(named.filter((route) => !routes.has(route))).toEqual([]);
  expect(routes).toContain("POST /v1/issuer-epoch");
});

test("every setting in the guide exists", () => {
  const known = new Set<string>([...everySettingName, ...controlPlaneSettingNames]);
  const named = [...guide.matchAll(/\bSVC_[A-Z_]+\b/g)].map(([name]) => name);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("the guide explains every shipped alert, and no other", () => {
  const shipped = [...read("deploy/prometheus/alerts.yaml").matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const explained = [...guide.matchAll(/^\| `(Svc\w+)`/gm)].map(([, name]) => name);
  expect(explained.toSorted()).toEqual(shipped.toSorted());
});

test.each(["deploy/README.md", ...pages, "deploy/postgres/README.md"])("every link of %s leads to a file", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
  expect(links.filter((link) => !existsSync(join(workspace, dirname(page), link)))).toEqual([]);
});

test("the model provider's upstream and manifest are valid for the programs", async () => {
  const block = (name: string): string =>
    new RegExp(`<!-- ${name} -->\\n+\`\`\`yaml\\n(.*?)\`\`\``, "s").exec(guide)?.[1] ?? "";
  const [secret, upstreams, manifest] = ["authorization", "pep.yaml", "assistant.yaml"].map((name) =>
    join(work, name),
  ) as [string, string, string];
  writeFileSync(secret, "Bearer of-the-provider");
  writeFileSync(upstreams, block("upstreams").replace("/etc/svc/model-authorization", secret));
  writeFileSync(manifest, block("manifest"));
  const env = { SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9", SVC_PEP_CONFIG: upstreams, SVC_DEV: "true" };
  const pep = spawnApp({ main: "@svc/pep/main", args: ["--print-config"], env });
  expect(await pep.exited, pep.output()).toBe(0);
  expect(pep.output()).not.toContain("of-the-provider");
  const lint = spawnApp({ main: "@svc/cli/main", args: ["manifest", "lint", manifest], env: {} });
  expect(await lint.exited, lint.output()).toBe(0);
});

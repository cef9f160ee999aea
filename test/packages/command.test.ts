import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type Child, type DevLine, startChild, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installApplication } from "./src/application.ts";
import { build, manifestOf, packAll, workspace } from "./src/pack.ts";
import { nodes } from "./src/runtimes.ts";

/** The command and the programs that it starts, as users get them: tarballs in an empty project. */
let work: string;
let application: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "svc-command-"));
  application = join(work, "application");
  await build();
  const installed = ["@svc/cli", "@svc/injector"];
  await installApplication({ folder: application, packed: await packAll(work), installed });
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Starts an installed command by its name. */
function start(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
  node = process.execPath,
): Child {
  const path = [dirname(node), process.env.PATH].join(delimiter);
  const file = join(application, "node_modules/.bin", name);
  return startChild(file, args, { cwd: application, env: { PATH: path, HOME: work, ...env } });
}

async function ended(name: string, args: readonly string[], env?: Record<string, string>, node?: string) {
  const child = start(name, args, env, node);
  const code = await child.exited;
  return { code, output: child.output(), stdout: child.stdout() };
}

describe.each(nodes)("on $name", ({ node }) => {
  test.skipIf(!node)("svc --help and svc --version print help and version", async () => {
    expect(await ended("svc", ["--help"], {}, node)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: svc/),
    });
    const { version } = manifestOf(join(workspace, "apps/cli"));
    expect(await ended("svc", ["--version"], {}, node)).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test.skipIf(!node)("svc check passes on a stack that svc dev started", async () => {
    const dev = start("svc", ["dev", "--json", "--port", "0"], {}, node);
    try {
      await waitUntil("the stack to run", () => dev.hasExited() || dev.stdout().includes("\n"));
      expect(dev.hasExited(), dev.output()).toBe(false);
      const line: DevLine = JSON.parse(dev.stdout());
      // Its package comes with a checkout alone.
      expect(line.openid_provider).toBeNull();
      const env = { SVC_CONTROL_PLANE_URL: line.control_plane, SVC_ADMIN_TOKEN: line.admin_token };
      const check = await ended("svc", ["check"], env, node);
      expect({ code: check.code, last: check.stdout.trimEnd().split("\n").at(-1) }, check.output).toEqual({
        code: 0,
        last: expect.stringMatching(/^\d+ checked, 0 bad, /),
      });
    } finally {
      await dev.stop();
    }
  });
});

test.each(["svc-control-plane", "svc-pep", "svc-injector"])(
  "%s starts from its tarball, and names the missing settings",
  async (name) => {
    const { code, output } = await ended(name, []);
    expect(code, output).not.toBe(0);
    expect(output).toMatch(/^SVC_\w+: is required/m);
    expect(output).not.toMatch(/\bat .*\.js:\d+/);
  },
);

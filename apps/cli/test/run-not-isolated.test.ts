import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GuardedStack, startGuardedStack } from "./guarded-run.ts";

let stack: GuardedStack;

beforeAll(async () => {
  stack = await startGuardedStack();
});
afterAll(() => stack.stop());

describe("svc run --isolate, where it is not possible", () => {
  const sessions = async () => (await stack.json("sessions", "list")).length;
  const command = [process.execPath, "-e", "console.log('ran')"];

  const fake = (text: string) => {
    const folder = mkdtempSync(join(stack.folder, "path-"));
    for (const name of ["unshare", "nsenter"]) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(folder, name), 0o755);
    }
    return folder;
  };

  test.each([
    ["without unshare", () => mkdtempSync(join(stack.folder, "path-")), "Install util-linux"],
    ["without the right", () => fake("echo 'unshare failed: Operation not permitted' >&2; exit 1"), "sysctl"],
  ])("%s the run is refused with a remedy: nothing is consented to, and nothing runs", async (_name, path, remedy) => {
    const before = await sessions();
    const { code, stdout, stderr } = await stack.run(["--isolate"], command, { PATH: path() }).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(remedy);
    expect(stderr).toContain("without --isolate");
    expect(await sessions()).toBe(before);
  });
});

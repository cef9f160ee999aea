import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { expect, onTestFinished, test } from "vitest";
import { startClerkStack } from "./stack.ts";
import { svc } from "./svc.ts";

test.each(["bash", "zsh", "fish"])("completion for %s is a script", async (shell) => {
  const { code, stdout } = await svc(["completion", shell]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/svc/);
});

test("shells complete commands, subcommands and options", async () => {
  const completed = async (...words: string[]) => (await svc(["complete", "--", ...words])).stdout;
  expect(await completed("ex")).toContain("explain");
  expect(await completed("keys", "")).toContain("rotate");
  expect(await completed("decisions", "--out")).toContain("--outcome");
});

test("shells complete names of agents and scopes, and the newest ids", async () => {
  const stack = await startClerkStack();
  onTestFinished(() => stack.stop());
  const [{ session_id: session }] = await stack.json(
    "consent",
    "--scope",
    "books",
    "--user",
    "ada",
    "--agent",
    "clerk",
  );
  const [{ action_id: action }] = await stack.json("decisions");
  const completed = async (...words: string[]) => (await stack.svc("complete", "--", ...words)).stdout;
  // A shell does not wait long, and proposes nothing where the machine is busy.
  const proposes = (name: string, ...words: string[]) =>
    waitUntil(`${name} to be proposed`, async () => (await completed(...words)).includes(name));
  await proposes("clerk\t", "agents", "show", "");
  await proposes("clerk\t", "decisions", "--agent", "cl");
  await proposes("books\t", "scopes", "show", "bo");
  await proposes(session, "sessions", "show", "");
  await proposes(action, "explain", "");
});

test("shells complete names of contexts", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-home-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, "svc"));
  const context = { controlPlane: "http://127.0.0.1:9", bearers: {} };
  const contexts = { current: "mine", byName: { mine: context, theirs: context } };
  writeFileSync(join(home, "svc", "contexts.json"), JSON.stringify(contexts), { mode: 0o600 });
  for (const words of [
    ["context", "use", ""],
    ["agents", "list", "--context", ""],
  ]) {
    const { stdout } = await svc(["complete", "--", ...words], { XDG_CONFIG_HOME: home });
    expect(stdout).toMatch(/^mine\t.*^theirs\t/ms);
  }
});

test("a control plane that does not respond proposes nothing, and prints no error", async () => {
  const env = { SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9", SVC_ADMIN_TOKEN: "an-admin-token-0123456789abcdef0123" };
  expect(await svc(["complete", "--", "agents", "show", ""], env)).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
});

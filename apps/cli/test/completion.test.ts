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

test("shells complete names of agents, scopes and contexts, and the newest ids", async () => {
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
  expect(await completed("agents", "show", "")).toContain("clerk\t");
  expect(await completed("decisions", "--agent", "cl")).toContain("clerk\t");
  expect(await completed("scopes", "show", "bo")).toContain("books\t");
  expect(await completed("sessions", "show", "")).toContain(session);
  expect(await completed("explain", "")).toContain(action);
});

test("a control plane that does not respond proposes nothing, and prints no error", async () => {
  const env = { SVC_CONTROL_PLANE_URL: "http://127.0.0.1:9", SVC_ADMIN_TOKEN: "an-admin-token-0123456789abcdef0123" };
  expect(await svc(["complete", "--", "agents", "show", ""], env)).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
});

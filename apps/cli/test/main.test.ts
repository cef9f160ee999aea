import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { main, svc } from "./svc.ts";

vi.setConfig({ testTimeout: 60_000 });

test("svc --version prints the package's version, and nothing else", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(await svc(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test("a command whose reader went away ends as by SIGPIPE, without a word", async () => {
  const child = spawn(process.execPath, ["--conditions=@svc/source", main, "--help"], {
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const [code] = await once(child, "close");
  expect({ code, said }).toEqual({ code: 141, said: "" });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { main, start, svc } from "./svc.ts";

test("svc --version prints the package's version, and nothing else", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(await svc(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each(["-", "-h", "--", "-y"])("a key id that begins with %s is not read as an option", async (start) => {
  const kid = start.padEnd(43, "x");
  const nobody = { SVC_CONTROL_PLANE_URL: "http://127.0.0.1:1", SVC_ADMIN_TOKEN: "only-for-this-test-0123456789" };
  const { code, stderr } = await svc(["keys", "remove", kid, "--yes"], nobody);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("127.0.0.1:1") });
});

test("a command ends silently, as by SIGPIPE, when its reader closes the pipe", async () => {
  const child = spawn(process.execPath, [main, "--help"], {
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  expect({ code, stderr }).toEqual({ code: 141, stderr: "" });
});

/** What the commands but those named import of packages, before any of them runs. */
const loading = `
  import { registerHooks } from "node:module";
  const [file, ...others] = process.argv.slice(1);
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^(?:[./]|file:|node:)/.test(specifier)) packages.add(specifier);
      return next(specifier, context);
    },
  });
  const { commands } = await import(file);
  for (const { name, load } of commands) if (!others.includes(name)) await load?.();
  console.log(JSON.stringify([...packages].sort()));`;

test("a command that only queries starts without schemas, signatures, drivers and parsers", async () => {
  const others = ["run", "mcp", "drift"];
  const commands = new URL("../src/commands.ts", import.meta.url).href;
  const options = ["--conditions=@svc/source", "--input-type=module", "--eval", loading];
  const child = spawn(process.execPath, [...options, commands, ...others], { stdio: ["ignore", "pipe", "inherit"] });
  const [packages] = await Promise.all([text(child.stdout), once(child, "close")]);
  expect(JSON.parse(packages)).toEqual([
    "@svc/core/closed-sets",
    "@svc/host/child-program",
    "@svc/host/finding",
    "@svc/host/loopback",
    "@svc/host/process-end",
    "commander",
    "picocolors",
  ]);
});

test("svc dev and svc demo run the program of @svc/dev, with its options, help and completion", async () => {
  const help = await svc(["dev", "--help"]);
  expect(help).toMatchObject({ code: 0, stderr: "" });
  expect(help.stdout).toMatch(/^Usage: svc dev \[options\][\s\S]*--with-example/);
  expect((await svc(["demo", "--help"])).stdout).toContain("--json");
  expect((await svc(["dev", "--mode", "off"])).code).toBe(2);
  expect((await svc(["complete", "--", "dev", "--with"])).stdout).toContain("--with-example");
});

test("svc dev ends with all its processes on SIGTERM", async () => {
  const dev = start(["dev", "--json", "--port", "0"]);
  await vi.waitFor(() => expect(dev.stdout()).toContain("\n"), { timeout: 240_000 });
  const { control_plane: url } = JSON.parse(dev.stdout());
  dev.kill("SIGTERM");
  expect((await dev.ended).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

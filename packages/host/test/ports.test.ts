import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePort, reservePort } from "../src/child-program.ts";

const source = JSON.stringify(import.meta.resolve("../src/child-program.ts"));

/** What another process finds, which has ended by then. */
function elsewhere(call: string): unknown {
  const program = `import { freePort, reservePort } from ${source}; console.log(await ${call})`;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }));
}

test("a free port is found by no other search, of this process or another, and a program can listen on it", async () => {
  const port = await freePort();
  expect(await reservePort(port)).toBe(false);
  expect(elsewhere(`reservePort(${port})`)).toBe(false);
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
});

test("a port on which a program listens is not free", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  expect(await reservePort(port)).toBe(false);
  server.close();
});

test("the port of a process that ended is free again", async () => {
  expect(await reservePort(Number(elsewhere("freePort()")))).toBe(true);
});

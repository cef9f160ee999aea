import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePort, reservePort } from "../src/child-program.ts";

const source = import.meta.resolve("../src/child-program.ts");

/** What another process finds. */
const reservedElsewhere = (port: number): string =>
  execFileSync(process.execPath, [
    "--input-type=module",
    "--eval",
    `import { reservePort } from ${JSON.stringify(source)}; console.log(await reservePort(${port}))`,
  ])
    .toString()
    .trim();

test("a free port is found by no other search, of this process or another, and a program can listen on it", async () => {
  const port = await freePort();
  expect(await reservePort(port)).toBe(false);
  expect(reservedElsewhere(port)).toBe("false");
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

test("the port of a search that ended is free again", async () => {
  const port = await freePort();
  expect(reservedElsewhere(port)).toBe("false");
  const other = Number(
    execFileSync(process.execPath, [
      "--input-type=module",
      "--eval",
      `import { freePort } from ${JSON.stringify(source)}; console.log(await freePort())`,
    ]),
  );
  expect(await reservePort(other)).toBe(true);
});

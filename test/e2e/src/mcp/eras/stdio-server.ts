import { appendFileSync, watchFile } from "node:fs";
import type { McpServer as FirstServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { firstServer, secondServer, type UntilAborted } from "./servers.ts";

/** `stdio-server.ts SDK WAITS ANNOUNCED`: the servers of both SDKs as programs (servers.ts#startOverStdio). */

const [, , sdk = "", waits = "", announced = ""] = process.argv;
const untilAborted: UntilAborted = (signal) => {
  appendFileSync(waits, ".");
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
};

let server: FirstServer | McpServer | undefined;
if (sdk === "first") {
  const first = firstServer(untilAborted);
  server = first;
  await first.connect(new StdioServerTransport());
} else {
  serveStdio(() => {
    const second = secondServer(untilAborted);
    server = second;
    return second;
  });
}
watchFile(announced, { interval: 20 }, () => server?.sendToolListChanged()).unref();

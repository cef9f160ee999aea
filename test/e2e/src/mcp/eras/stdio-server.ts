import { appendFileSync, watchFile } from "node:fs";
import type { McpServer as FirstServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { firstServer, secondServer, type Waiting } from "./servers.ts";

/** `stdio-server.ts SDK WAITS ANNOUNCED SEEN`: the servers of both SDKs as programs (servers.ts#startOverStdio). */

const [, , sdk = "", waits = "", announced = "", seen = ""] = process.argv;
const progressSeen = Promise.withResolvers<void>();
const waiting: Waiting = {
  untilAborted(signal) {
    appendFileSync(waits, ".");
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  },
  // The SDKs' clients drop progress that arrives together with the answer.
  untilProgressSeen: () => progressSeen.promise,
};

let server: FirstServer | McpServer | undefined;
if (sdk === "first") {
  const first = firstServer(waiting);
  server = first;
  await first.connect(new StdioServerTransport());
} else {
  serveStdio(() => {
    const second = secondServer(waiting);
    server = second;
    return second;
  });
}
watchFile(seen, { interval: 20 }, () => progressSeen.resolve()).unref();
watchFile(announced, { interval: 20 }, () => server?.sendToolListChanged()).unref();

import type { Server } from "node:http";

/** Listens on the port that the parent process chose, and reports it. It ends with its parent. */
export function listen(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen(Number(process.env.PORT), "127.0.0.1", () => process.send?.("listening"));
  process.once("disconnect", () => process.exit());
}

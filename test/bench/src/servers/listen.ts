import type { Server } from "node:http";

/** On the port that whoever started this process chose; tells it. It ends with that process. */
export function listen(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen(Number(process.env.PORT), "127.0.0.1", () => process.send?.("listening"));
  process.once("disconnect", () => process.exit());
}

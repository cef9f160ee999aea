import { createMetrics } from "../../src/metrics.ts";
import { shareMetrics } from "../../src/multiprocess.ts";

/** A process that shares its metrics in a directory and does what it is told over the IPC channel. */
const [dir = ""] = process.argv.slice(2);
const metrics = createMetrics("control_plane", "1.2.3");
const shared = shareMetrics({ dir, registry: metrics.registry, pid: process.pid, startedAt: Date.now() });

process.on("message", async (order: "count" | "render" | "close") => {
  if (order === "count") metrics.inc("svc_decisions", { outcome: "allow" });
  if (order === "render") process.send?.((await shared.render()).body);
  if (order === "close") await shared.close().then(() => process.disconnect?.());
});
process.send?.("ready");

import { readConfig } from "./config.ts";
import { startInjector } from "./server.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Time for the API server to use another replica: a pod without a review does not start. */
const noticeMs = 5_000;

const read = readConfig(process.env);
if (!read.ok) {
  for (const fault of read.faults) say(fault);
  say("The injector did not start. Every setting is listed in apps/injector/README.md.");
  process.exit(1);
}
for (const warning of read.warnings) say(`WARNING: ${warning}`);

try {
  const injector = await startInjector(read.config, say);
  const stop = () => void injector.stop().then(() => process.exit(0));
  process.once("SIGTERM", () => {
    injector.stopBeingReady();
    setTimeout(stop, noticeMs);
  });
  process.on("SIGINT", stop);
  say(`injector listening on https://${read.config.host}:${injector.port}`);
} catch (error) {
  say(`The injector did not start: ${error instanceof Error ? error.message : "unknown cause"}.`);
  process.exit(1);
}

#!/usr/bin/env node
import "@svc/host/require-node";
import { readFileSync } from "node:fs";
import { createTelemetry } from "@svc/telemetry";
import { type Pep, startPep } from "./pep.ts";
import { runCheck } from "./start/check.ts";
import { type Config, readConfig } from "./start/config.ts";
import { help } from "./start/help.ts";
import { runLint } from "./start/lint.ts";
import { printedConfig } from "./start/printed-config.ts";
import { runSuggest } from "./start/suggest.ts";
import { settingsFindings, weaknesses } from "./start/weaknesses.ts";
import { ConfigurationRefused } from "./upstreams/configured-upstreams.ts";
import { upstreamsSchema } from "./upstreams/upstreams-file.ts";

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const log = (line: string): void => void process.stderr.write(`${line}\n`);

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

function configure(): Config {
  const result = readConfig(process.env);
  if (result.ok) {
    for (const warning of result.warnings) log(`WARNING: ${warning}`);
    return result.config;
  }
  for (const fault of result.faults) log(fault);
  log("The enforcement point did not start. Every setting is listed in apps/pep/README.md.");
  process.exit(1);
}

/** SIGTERM drains, SIGINT cuts calls under way, a second signal exits at once. */
function stopOnSignal(pep: Pep): void {
  let isStopping = false;
  const stop = async (isUrgent: boolean): Promise<void> => {
    if (isStopping) process.exit(1);
    isStopping = true;
    await pep.stop({ isUrgent });
    process.exit(0);
  };
  process.on("SIGTERM", () => void stop(false));
  process.on("SIGINT", () => void stop(true));
}

async function run(config: Config): Promise<void> {
  const telemetry = createTelemetry({ app: "pep", version, config: { ...config.telemetry, otel: process.env } });
  const pep = await startPep(config, { telemetry, log, onQuit: () => process.kill(process.pid, "SIGTERM") });
  process.on("SIGHUP", pep.reload);
  stopOnSignal(pep);
  for (const { what, remedy } of weaknesses(config, pep)) log(`WARNING: ${what}. ${remedy}`);
  log(`enforcement point listening on ${pep.address}, admin on ${pep.adminAddress}`);
}

/** Each finding as a line of JSON; the exit code is 1 where any is bad. */
function checkSettings(): 0 | 1 {
  const findings = settingsFindings(readConfig(process.env));
  for (const finding of findings) process.stdout.write(`${JSON.stringify(finding)}\n`);
  return findings.some(({ level }) => level === "bad") ? 1 : 0;
}

try {
  const [flag, ...rest] = process.argv.slice(2);
  switch (flag) {
    case undefined:
      await run(configure());
      break;
    case "--check":
      process.exitCode = await runCheck(configure(), rest, process.env.SVC_ADMIN_TOKEN, log);
      break;
    case "--check-settings":
      process.exitCode = checkSettings();
      break;
    case "--lint":
      process.exitCode = runLint(rest[0], print, log, URL.parse(process.env.SVC_PEP_PUBLIC_URL ?? "") ?? undefined);
      break;
    case "--print-config":
      process.stdout.write(printedConfig(configure(), process.env));
      break;
    case "--schema":
      process.stdout.write(`${JSON.stringify(upstreamsSchema(), null, 2)}\n`);
      break;
    case "--suggest":
      process.exitCode = await runSuggest(rest[0], process.stdin, print, log);
      break;
    case "--help":
    case "-h":
      process.stdout.write(help);
      break;
    default:
      log(`unknown flag ${flag}; svc-pep --help lists the flags`);
      process.exitCode = 2;
  }
} catch (error) {
  if (error instanceof ConfigurationRefused)
    for (const fault of error.faults) log(`${process.env.SVC_PEP_CONFIG}: ${fault}`);
  log(`The enforcement point did not start: ${error instanceof Error ? error.message : "unknown cause"}.`);
  process.exit(1);
}

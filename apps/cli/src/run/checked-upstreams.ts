import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { printedHosts } from "@svc/core";
import { pepEnvironment } from "@svc/host";
import { commandLineOf } from "@svc/host/child-program";
import { parse } from "yaml";
import { notTried } from "../fault.ts";

const isManifest = /Unrecognized keys: "agent", "manifest"/;
const ofManifest = "This is a manifest: --upstreams takes the enforcement point's file, such as pep.yaml.";

/**
 * The hosts that an upstreams file lists, after the enforcement point itself read the file and its settings.
 * @throws {Fault} with their faults
 */
export async function checkedHosts(file: string, controlPlaneUrl: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, commandLineOf(import.meta.resolve("@svc/pep/main"), ["--print-config"]), {
    env: {
      SVC_DEV: "true",
      ...pepEnvironment(process.env),
      SVC_CONTROL_PLANE_URL: controlPlaneUrl,
      SVC_PEP_CONFIG: resolve(file),
      SVC_PEP_LISTEN: "127.0.0.1:0",
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const read = (stream: NodeJS.ReadableStream | null) => (stream ? text(stream) : "");
  const [config, faults, [code]] = await Promise.all([read(child.stdout), read(child.stderr), once(child, "exit")]);
  if (code !== 0)
    throw notTried(faults.trim(), isManifest.test(faults) ? ofManifest : "Correct the upstreams file, or the setting.");
  return printedHosts.parse(parse(config)).upstreams.flatMap(({ hosts }) => hosts);
}

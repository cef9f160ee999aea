import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Stand } from "@svc/test-conformance/stand";
import { type EnforcementPoint, startEnforcementPoint } from "@svc/test-support";
import { routes } from "./guarded.ts";

/** A further enforcement point for a stand's control plane and upstream, which it does not stop. */
export async function startBeside(stand: Stand, settings: Readonly<Record<string, string>>): Promise<EnforcementPoint> {
  const folder = mkdtempSync(join(tmpdir(), "svc-beside-"));
  const configFile = join(folder, "pep.json");
  writeFileSync(configFile, JSON.stringify({ upstreams: [{ name: "app", url: stand.upstream.url, routes }] }));
  const running = await startEnforcementPoint(stand.api.url, configFile, settings);
  void running.exited.then(() => rmSync(folder, { recursive: true, force: true }));
  return running;
}

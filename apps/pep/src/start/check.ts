import { readFileSync } from "node:fs";
import { isWithin, mcpServerRef, scopeCatalog } from "@svc/core";
import type { Transport } from "@svc/hop";
import type { z } from "zod";
import type { CallTarget } from "../protocols/protocol.ts";
import type { Upstreams } from "../upstreams/upstream.ts";
import { readUpstreams } from "../upstreams/upstreams-file.ts";
import type { Config } from "./config.ts";
import { connectControlPlane } from "./control-plane.ts";

const catalogShape = scopeCatalog.pick({ tools: true, downstream_agents: true });
export type Catalog = z.infer<typeof catalogShape>;

const requestMs = 5_000;
const maxCatalogBytes = 16 * 1024 * 1024;

/** @throws {Error} with a message for the operator */
async function fetchCatalog(transport: Transport, adminToken: string, scope: string): Promise<Catalog> {
  const response = await transport.send({
    method: "GET",
    path: `/v1/scopes/${encodeURIComponent(scope)}/catalog`,
    headers: { accept: "application/json", authorization: `Bearer ${adminToken}` },
    deadlineMs: requestMs,
    maxResponseBytes: maxCatalogBytes,
  });
  if (response.status !== 200) throw new Error(`the catalog of scope ${scope} cannot be read: ${response.status}`);
  return catalogShape.parse(JSON.parse(response.body));
}

/** A line for each target that no policy could allow (docs/reference/enforcement-point.md#checking-the-file). */
export function unallowedTargets(upstreams: Upstreams, catalogs: readonly Catalog[]): string[] {
  return upstreams.all.flatMap((upstream) =>
    [...upstream.protocol.targets(), ...(upstream.tunnel ? [upstream.tunnel] : [])]
      .filter((call) => !catalogs.some((catalog) => couldAllow(catalog, call)))
      .map(({ target, dataClass }) => `${upstream.name}: ${target} for ${dataClass} is in no policy`),
  );
}

function couldAllow({ tools, downstream_agents }: Catalog, { target, targetKind, dataClass }: CallTarget): boolean {
  if (targetKind === "agent") return downstream_agents.includes(target);
  const isAnyOfServer = mcpServerRef(target) === target;
  return tools.some(
    ({ ref, data_classes }) =>
      (ref === target || (isAnyOfServer && mcpServerRef(ref) === target)) && isWithin(dataClass, data_classes),
  );
}

/** Returns the exit code of `--check SCOPE...`: 0 every target could be allowed, 1 some could not, 2 not known. */
export async function runCheck(
  config: Config,
  scopes: readonly string[],
  adminToken: string | undefined,
  log: (line: string) => void,
): Promise<number> {
  if (adminToken === undefined || scopes.length === 0) {
    log("--check needs the scopes to compare with as arguments, and SVC_ADMIN_TOKEN");
    return 2;
  }
  const read = readUpstreams(readFileSync(config.configFile, "utf8"), {
    defaultMode: config.mode,
    publicUrl: config.publicUrl,
  });
  if (!read.ok) {
    for (const fault of read.faults) log(`${config.configFile}: ${fault}`);
    return 2;
  }
  const { transport, disconnect } = connectControlPlane(config);
  try {
    const catalogs = await Promise.all(scopes.map((scope) => fetchCatalog(transport, adminToken, scope)));
    const unallowed = unallowedTargets(read.upstreams, catalogs);
    for (const line of unallowed) log(line);
    return unallowed.length === 0 ? 0 : 1;
  } catch (error) {
    log(error instanceof Error ? error.message : "the catalogs cannot be read");
    return 2;
  } finally {
    await disconnect();
  }
}

import { locate } from "@svc/test-support";
import { filterPackets, letPacketsPass, type PacketVerdict } from "../packet-filter.ts";
import type { Scenario } from "../stand.ts";
import { startUsualWorld, type World } from "../world.ts";
import { outage } from "./database.ts";

export async function startWorldBehindFilter(): Promise<World> {
  locate("nft");
  return startUsualWorld();
}

/** Below the relay that swallows and resets: here TCP itself gets no acknowledgement, and sends again until it does. */
const filtered = (name: string, verdict: PacketVerdict): Scenario =>
  outage(name, {
    begin: ({ world }) => filterPackets(world.databaseNetwork.port, verdict),
    end: letPacketsPass,
  });

export const packetFaults: readonly Scenario[] = [
  filtered("every packet between control plane and PostgreSQL dropped (nftables)", "drop"),
  filtered(
    "every packet between control plane and PostgreSQL answered with a reset (nftables)",
    "reject with tcp reset",
  ),
];

import { locate } from "@svc/test-support";
import { type Deployment, startUsualDeployment } from "../deployment.ts";
import { filterPackets, letPacketsPass, type PacketVerdict } from "../packet-filter.ts";
import type { Scenario } from "../stand.ts";
import { outage } from "./database.ts";

export async function startDeploymentBehindFilter(): Promise<Deployment> {
  locate("nft");
  return startUsualDeployment();
}

/** Below the relay: here TCP gets no acknowledgement, and retransmits until it does. */
const filtered = (name: string, verdict: PacketVerdict): Scenario =>
  outage(name, {
    begin: ({ deployment }) => filterPackets(deployment.databaseNetwork.port, verdict),
    end: letPacketsPass,
  });

export const packetFaults: readonly Scenario[] = [
  filtered("every packet between control plane and PostgreSQL dropped (nftables)", "drop"),
  filtered(
    "every packet between control plane and PostgreSQL answered with a reset (nftables)",
    "reject with tcp reset",
  ),
];

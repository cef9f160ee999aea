import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { installDebianPackage } from "@svc/test-support";

const run = promisify(execFile);

/** What the kernel does with every packet to and from a port: nothing at all, or a reset to whoever sent it. */
export const verdicts = ["drop", "reject with tcp reset"] as const;
export type PacketVerdict = (typeof verdicts)[number];

/** A table of our own, so that no other rule of this machine is touched. */
const table = `svc_faults_${process.pid}`;

/** @throws where this account or machine has no packet filter to set */
export function requirePacketFilter(): void {
  const isThere = () => {
    try {
      execFileSync("nft", ["list", "tables"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  if (isThere() || (installDebianPackage("nftables") && isThere())) return;
  throw new Error("packets are dropped by nftables, as root: install nftables and run this as root");
}

/** From now on, for packets of open connections and new ones alike. */
export async function filterPackets(port: number, verdict: PacketVerdict): Promise<void> {
  const rules = ["dport", "sport"].map((side) => `tcp ${side} ${port} ${verdict};`).join(" ");
  await run("nft", [`table inet ${table} { chain arriving { type filter hook input priority 0; ${rules} }; }`]);
}

export const letPacketsPass = async (): Promise<void> => void (await run("nft", ["delete", "table", "inet", table]));

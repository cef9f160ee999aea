import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The kernel's treatment of every packet to and from a port: drop it, or reset its sender. */
export const verdicts = ["drop", "reject with tcp reset"] as const;
export type PacketVerdict = (typeof verdicts)[number];

/** A table of our own, so that the machine's other rules stay unchanged. */
const table = `svc_faults_${process.pid}`;

/** From now on, for packets of open and new connections. */
export async function filterPackets(port: number, verdict: PacketVerdict): Promise<void> {
  const rules = ["dport", "sport"].map((side) => `tcp ${side} ${port} ${verdict};`).join(" ");
  await run("nft", [`table inet ${table} { chain arriving { type filter hook input priority 0; ${rules} }; }`]);
}

export const letPacketsPass = async (): Promise<void> => void (await run("nft", ["delete", "table", "inet", table]));

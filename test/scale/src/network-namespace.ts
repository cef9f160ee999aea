import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A network stack of its own, joined to this machine's by one cable. */
export interface NetworkNamespace {
  /** Its own address. */
  readonly address: string;
  /** This machine's, as it is seen from there. */
  readonly gateway: string;
  /** Puts a program in there: what stands before its command line. */
  readonly within: readonly string[];
  /** Pulls the cable: whatever is under way gets no answer, not even a refusal. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  remove(): Promise<void>;
}

/** @param number tells those of one process apart, from 0 to 63 */
export async function makeNamespace(number: number): Promise<NetworkNamespace> {
  const name = `svc-scale-${process.pid}-${number}`;
  const cable = `svc${process.pid}v${number}`;
  // RFC 2544: for benchmarks, so that no network which is really there is hidden.
  const network = `198.18.${process.pid % 256}`;
  const [gateway, address] = [`${network}.${number * 4 + 1}`, `${network}.${number * 4 + 2}`];
  const ip = (...args: readonly string[]) => run("ip", args);
  await ip("netns", "add", name);
  await ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name);
  await ip("address", "add", `${gateway}/30`, "dev", cable);
  await ip("link", "set", cable, "up");
  await ip("-n", name, "address", "add", `${address}/30`, "dev", "eth0");
  await ip("-n", name, "link", "set", "lo", "up");
  await ip("-n", name, "link", "set", "eth0", "up");
  return {
    address,
    gateway,
    within: ["ip", "netns", "exec", name],
    cut: async () => void (await ip("-n", name, "link", "set", "eth0", "down")),
    mend: async () => void (await ip("-n", name, "link", "set", "eth0", "up")),
    remove: async () => void (await ip("netns", "del", name)),
  };
}

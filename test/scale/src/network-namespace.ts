import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A separate network stack, connected to this machine's by one virtual cable. */
export interface NetworkNamespace {
  /** Its own address. */
  readonly address: string;
  /** This machine's address, seen from there. */
  readonly gateway: string;
  /** Command prefix that runs a program in there. */
  readonly within: readonly string[];
  /** Pulls the cable: open requests get no response, not even a refusal. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  remove(): Promise<void>;
}

/** @param number unique within one process, from 0 to 63 */
export async function makeNamespace(number: number): Promise<NetworkNamespace> {
  const name = `svc-scale-${process.pid}-${number}`;
  const cable = `svc${process.pid}v${number}`;
  // RFC 2544: for benchmarks, so that no real network is hidden.
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

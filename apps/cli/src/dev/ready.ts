import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { Fault } from "../fault.ts";
import type { StackProcess } from "./child-process.ts";

/** The embedded database is made within this, also on a slow machine. */
const readyTimeoutMs = 60_000;

/** Resolves when `url` answers 200. Throws a Fault with what the process said when it ends before, or takes too long. */
export async function untilReady(child: StackProcess, url: string): Promise<void> {
  const endMs = performance.now() + readyTimeoutMs;
  while (!(await answersOk(url))) {
    if (child.hasEnded()) throw await endedFault(child);
    if (performance.now() > endMs) throw fault(child, `did not get ready within ${readyTimeoutMs / 1000} s`);
    await delay(50);
  }
}

export const endedFault = async (child: StackProcess): Promise<Fault> => fault(child, `ended (${await child.ended})`);

const fault = (child: StackProcess, what: string): Fault =>
  new Fault(`${child.name} ${what}. Its last lines:\n${child.lastLines()}`, "See above for what stopped it.");

async function answersOk(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { headersTimeout: 2000, bodyTimeout: 2000 });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

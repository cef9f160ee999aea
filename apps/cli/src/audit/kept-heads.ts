import { appendFile, readFile } from "node:fs/promises";
import type { Examined, SealHead } from "@svc/seals";
import { z } from "zod";
import { Fault } from "../fault.ts";

const line = z.object({ batch: z.int().min(1), hash: z.string().min(1) });

/** The newest seals of earlier runs, one a line; none without the file. */
export async function readHeads(path: string): Promise<readonly SealHead[]> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return "";
    throw new Fault(`${path} cannot be read`, "Check --heads.", { cause, exitCode: 2 });
  });
  return text
    .split("\n")
    .filter(Boolean)
    .map((each) => readLine(path, each));
}

function readLine(path: string, text: string): SealHead {
  try {
    return line.parse(JSON.parse(text));
  } catch (cause) {
    const advice = "It has one {batch, hash} a line, as this command writes it. Restore a copy, or start a new file.";
    throw new Fault(`${path} is no file of seals`, advice, { cause, exitCode: 2 });
  }
}

/** Appends the newest seal, once. */
export async function keepHead(path: string, known: readonly SealHead[], head: Examined["head"]): Promise<void> {
  if (head === null || known.some(({ batch }) => batch === head.batch)) return;
  const sealedAt = head.sealedAtMs === null ? null : new Date(head.sealedAtMs).toISOString();
  const text = `${JSON.stringify({ batch: head.batch, hash: head.hash, sealed_at: sealedAt })}\n`;
  await appendFile(path, text, { mode: 0o600, flush: true }).catch((cause: unknown) => {
    throw new Fault(`${path} cannot be written`, "Check --heads.", { cause, exitCode: 2 });
  });
}

import { readFile } from "node:fs/promises";
import {
  checkProof,
  idOf,
  type Proof,
  type ProofHindrance,
  proofSchema,
  proveRow,
  type RecordReader,
  type Source,
} from "@svc/seals";
import type { VerificationKey } from "@svc/tokens";
import { z } from "zod";
import { Fault, notTried } from "../fault.ts";
import { colors, print, printJson, shown } from "../output.ts";
import { inWords, proofWords } from "./finding-words.ts";

/** The decision, and what followed from it. */
const proofFile = z.strictObject({ action_id: z.uuid(), proofs: z.array(proofSchema).min(1).max(3) });

type Keys = ReadonlyMap<string, VerificationKey>;

/** Prints the proof of an action: its decision, and its exchange and transaction token where they are sealed too. */
export async function proveAction(reader: RecordReader, keys: Keys, action: string): Promise<void> {
  const id = z.uuid().safeParse(action.toLowerCase()).data;
  if (id === undefined) throw notTried(`${action} is no action_id`, "It is a UUID: svc decisions lists them.");
  const proofs: Proof[] = [];
  for (const source of ["decision", "exchange", "mint"] as const) {
    const proven = await proveRow(reader, source, id);
    if (proven.ok) proofs.push(await checked(proven.proof, keys));
    // An exchange or transaction token may follow later, or never.
    else if (source === "decision" || !isAbsent(proven.cause)) throw hindered(proven, source, id);
  }
  printJson({ action_id: id, proofs });
}

const isAbsent = (cause: ProofHindrance): boolean => cause === "absent" || cause === "unsealed";

/** Only a proof that verifies is printed. */
async function checked(proof: Proof, keys: Keys): Promise<Proof> {
  const reading = await checkProof(proof, keys);
  if (reading.ok) return proof;
  const advice =
    reading.cause === "unknown_key"
      ? "An older key sealed it: svc audit verify --json lists all of them as `keys`."
      : "svc audit verify without --action lists every fault.";
  throw new Fault(`the ${proof.source} cannot be proven: ${proofWords[reading.cause]}`, advice);
}

function hindered(
  { cause, batch = 0 }: { readonly cause: ProofHindrance; readonly batch?: number },
  source: Source,
  id: string,
): Fault {
  if (cause === "absent") return notTried(`the record has no action ${id}`, "svc decisions lists them.");
  if (cause === "unsealed") return notTried(`the action ${id} is not sealed yet`, "Try again in some minutes.");
  const advice = "svc audit verify without --action lists every fault.";
  return new Fault(inWords({ kind: cause, source, id, batch }), advice);
}

/** Checks a proof with the given keys only: no database, no network. */
export async function checkProofFile(path: string, keys: Keys, json = false): Promise<void> {
  const { action_id: actionId, proofs } = await readProof(path);
  for (const proof of proofs) {
    const { cause, batch, sealedAt } = await judged(proof, actionId, keys);
    if (cause !== null) process.exitCode = 1;
    if (json) printJson({ source: proof.source, proven: cause === null, cause, batch, sealed_at: sealedAt });
    else if (cause === null) print(`${colors.green("✓")} ${proven(proof)}: sealed ${sealedAt} in batch ${batch}`);
    else print(`${colors.red("✗")} ${proof.source}: ${proofWords[cause]}`);
  }
}

async function judged(proof: Proof, actionId: string, keys: Keys) {
  const reading = await checkProof(proof, keys);
  if (!reading.ok) return { cause: reading.cause, batch: null, sealedAt: null };
  const cause = idOf(proof.source, proof.row) === actionId ? null : ("not_included" as const);
  return { cause, batch: reading.seal.batch, sealedAt: new Date(reading.seal.sealedAtMs).toISOString() };
}

/** The proven values only. */
function proven({ source, row }: Proof): string {
  if (source !== "decision") return source;
  const { acting_agent: agent, target, decision, decided_at: decidedAt } = row;
  return shown(`decision of ${decidedAt}: ${agent} to ${target}, ${decision}`);
}

async function readProof(path: string): Promise<z.infer<typeof proofFile>> {
  try {
    return proofFile.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw notTried(`${path} is no proof`, "svc audit verify --action ID writes one.", cause);
  }
}

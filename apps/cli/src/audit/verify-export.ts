import { EvidenceUnreadable, reportEvidence, thumbprintsOf } from "@svc/seals";
import { notTried } from "../fault.ts";
import { print, progress } from "../output.ts";
import { pinnedKeys } from "./pinned-keys.ts";

export interface VerifyExportFlags {
  readonly jwks?: string;
  readonly key?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly json?: boolean;
}

/** Verifies the folder of an export by the given keys alone. */
export async function verifyExport(folder: string, { jwks, key = [], since, until, json }: VerifyExportFlags) {
  const trusted = [...key, ...(jwks === undefined ? [] : await trustedThumbprints(jwks))];
  const steps = progress({ everyMs: 5_000 });
  try {
    process.exitCode = await reportEvidence({
      folder,
      trusted: trusted.length === 0 ? undefined : new Set(trusted),
      sinceMs: since === undefined ? undefined : Date.parse(since),
      untilMs: until === undefined ? undefined : Date.parse(until),
      json,
      print(line) {
        steps.done();
        print(line);
      },
      onBatch: (batch, rows) => steps.show(`batch ${batch}, ${rows} rows`),
    });
  } catch (cause) {
    if (!(cause instanceof EvidenceUnreadable)) throw cause;
    throw notTried(cause.message, "Export again: svc audit export --to FOLDER.", cause);
  } finally {
    steps.done();
  }
}

async function trustedThumbprints(place: string): Promise<ReadonlySet<string>> {
  const keys = Array.from((await pinnedKeys(place)).values(), ({ publicJwk }) => publicJwk);
  return thumbprintsOf(JSON.stringify({ keys }), place);
}

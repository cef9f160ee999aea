import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { EvidenceUnreadable } from "./folder.ts";
import { readThumbprints, reportEvidence } from "./report.ts";

// Runs as the last part of verify.mjs, and nowhere else.
try {
  const { values, positionals } = parseArgs({
    args: withDashedKeys(process.argv.slice(2)),
    allowPositionals: true,
    options: {
      jwks: { type: "string" },
      key: { type: "string", multiple: true },
      since: { type: "string" },
      until: { type: "string" },
      json: { type: "boolean" },
    },
  });
  const given = [...(values.jwks === undefined ? [] : await readThumbprints(values.jwks)), ...(values.key ?? [])];
  process.exitCode = await reportEvidence({
    folder: positionals[0] ?? dirname(fileURLToPath(import.meta.url)),
    trusted: given.length === 0 ? undefined : new Set(given),
    sinceMs: values.since === undefined ? undefined : Date.parse(values.since),
    untilMs: values.until === undefined ? undefined : Date.parse(values.until),
    json: values.json,
    print: (line) => void process.stdout.write(`${line}\n`),
  });
} catch (cause) {
  if (!(cause instanceof EvidenceUnreadable) && !(cause instanceof TypeError)) throw cause;
  process.stderr.write(`${cause.message}\n`);
  process.exitCode = 2;
}

/** A thumbprint may begin with a dash, which would be taken for another option. */
function withDashedKeys(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    if (joined.at(-1) === "--key") joined[joined.length - 1] = `--key=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

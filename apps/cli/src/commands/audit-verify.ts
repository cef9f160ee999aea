import { Command, Option } from "commander";
import type { VerifyFlags } from "../audit/verify.ts";

const examples = `
Examples:
  export AUDIT_DATABASE_URL=postgres://svc_auditor@db.example.com/svc
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --heads heads.ndjson
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --json | tail -n 1 | jq .keys > keys.json
                                   every key that ever sealed, which the newest seal vouches for
  svc audit verify --jwks keys.json --action "$ACTION_ID" > proof.json
  svc audit verify --jwks keys.json --proof proof.json

It asks the database and trusts nobody but the keys: neither the control plane nor whoever runs the database. Keep the
file of --heads elsewhere: it tells when the newest seals were taken away.

Exit codes: 0 everything is as it was sealed; 1 something is not; 2 it could not be looked at.
`;

export const verifyCommand = (): Command =>
  new Command("verify")
    .description("Find any row of the record that was changed, removed or inserted after it was sealed.")
    .requiredOption("--jwks <place>", "the issuer's key set, as a file or an address: the keys that are trusted")
    .addOption(new Option("--database-url <url>", "the database that holds the record").env("AUDIT_DATABASE_URL"))
    .option("--heads <file>", "seals that were seen before must still be there; the newest one is added")
    .addOption(
      new Option("--max-unsealed <seconds>", "how old a row may be that is not sealed yet")
        .default(3_600)
        .argParser(Number),
    )
    .addOption(new Option("--action <id>", "prove that this action is in the record").conflicts(["heads", "proof"]))
    .addOption(new Option("--proof <file>", "check such a proof, without any database").conflicts("heads"))
    .option("--json", "one line of JSON a finding, and one at the end: {intact, batches, rows, ...}")
    .addHelpText("after", examples)
    // Loaded where it runs: signatures and the database's driver would be most of the time that the help takes.
    .action(async (flags: VerifyFlags) => (await import("../audit/verify.ts")).verifyRecord(flags));

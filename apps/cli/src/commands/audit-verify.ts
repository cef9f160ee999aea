import { Command, Option } from "commander";
import type { VerifyFlags } from "../audit/verify.ts";

const examples = `
Examples:
  export AUDIT_DATABASE_URL=postgres://svc_auditor@db.example.com/svc
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --heads heads.ndjson
  svc audit verify --jwks https://authz.example.com/.well-known/jwks.json --json | tail -n 1 | jq .keys > keys.json
                                   every key that ever sealed, vouched for by the newest seal
  svc audit verify --jwks keys.json --action "$ACTION_ID" > proof.json
  svc audit verify --jwks keys.json --proof proof.json

It reads the database and trusts only the keys, not the control plane or the database's operator. Keep the file of --heads on
another machine: it shows when the newest seals were removed.

Exit codes: 0 the record is as sealed; 1 it is not; 2 it could not be verified.
`;

export const verifyCommand = (): Command =>
  new Command("verify")
    .description("Find any row of the record that was changed, removed or inserted after it was sealed.")
    .requiredOption("--jwks <place>", "the trusted keys: the issuer's key set, as a file or an address")
    .addOption(new Option("--database-url <url>", "the database of the record").env("AUDIT_DATABASE_URL"))
    .option("--heads <file>", "requires the seals in the file, and adds the newest one")
    .addOption(
      new Option("--max-unsealed <seconds>", "maximum age of an unsealed row").default(3_600).argParser(Number),
    )
    .addOption(new Option("--action <id>", "prove that this action is in the record").conflicts(["heads", "proof"]))
    .addOption(new Option("--proof <file>", "check such a proof, without any database").conflicts("heads"))
    .option("--json", "one line of JSON a finding, and one at the end: {intact, batches, rows, ...}")
    .addHelpText("after", examples)
    // Loaded when it runs: signatures and the database driver would slow down the help.
    .action(async (flags: VerifyFlags) => (await import("../audit/verify.ts")).verifyRecord(flags));

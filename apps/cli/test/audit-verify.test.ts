import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { command, verifyCommand, verifyExportCommand } from "../src/commands/audit.ts";
import { examplesOf, helpOf, readmeExamples } from "./printed-examples.ts";
import { type CliStack, startCliStack } from "./stack.ts";
import { main, svc } from "./svc.ts";

let stack: CliStack;
let owner: postgres.Sql;
let jwks: string;
const path = (name: string): string => join(stack.folder, name);
const verify = (...args: readonly string[]) =>
  svc(["audit", "verify", "--jwks", jwks, ...args], { AUDIT_DATABASE_URL: stack.database.superuserUrl });

/** As if they had been decided twenty minutes ago: whatever bears their time has come. */
const idOf = (n: number): string => idAt(Date.now() - 1_200_000, n);
function idAt(epochMs: number, n: number): string {
  const ms = epochMs.toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
}
const actions = [1, 2, 3].map(idOf);
const [first = "", second = ""] = actions;

beforeAll(async () => {
  stack = await startCliStack();
  owner = postgres(stack.database.superuserUrl, { max: 1, onnotice: () => {} });
  jwks = path("keys.json");
  writeFileSync(jwks, await (await fetch(`${stack.controlPlane.url}/.well-known/jwks.json`)).text());
  for (const actionId of actions) {
    await owner`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
      values (${actionId}, 2, gen_random_uuid(), 'authorize', 1, '{}', 'ada', 'planner', 'agent', 'finance', 'allow',
        false, true, false, 'trusted_internal', 1, now())`;
  }
  await owner`insert into spend (jti_hash, action_id, session_id, kind, spent_at)
    select decode(md5(action_id::text), 'hex'), action_id, session_id, 'exchange', now() from decision`;
  await waitUntil("the control plane to seal them", async () => (await owner`select from seal`).count > 0);
});
afterAll(async () => {
  await owner?.end();
  await stack?.stop();
});

/** What only a superuser can do, and its undoing. */
async function tampered<T>(change: string, undo: string, work: () => Promise<T>): Promise<T> {
  const disabled = (state: string) => owner.unsafe(`alter table decision ${state} trigger append_only`);
  const run = async (statement: string) => {
    await disabled("disable");
    await owner.unsafe(statement);
    await disabled("enable always");
  };
  await run(change);
  return work().finally(() => run(undo));
}

describe("svc audit verify", () => {
  test("finds the record of a running control plane intact", async () => {
    const { code, stdout } = await verify("--heads", path("heads.ndjson"));
    expect(stdout).toMatch(/^✓ intact: 6 rows in 1 batches checked$/m);
    expect(code).toBe(0);
    const { code: again, stdout: lines } = await verify("--heads", path("heads.ndjson"), "--json");
    const summary = JSON.parse(lines);
    expect([again, summary.intact, summary.rows]).toEqual([0, true, 6]);
    const kept = readFileSync(path("heads.ndjson"), "utf8").trim().split("\n");
    expect(kept.map((line) => JSON.parse(line))).toEqual([summary.head]);
  });

  test("names the changed row and exits 1", async () => {
    const update = (agent: string) => `update decision set acting_agent = '${agent}' where action_id = '${first}'`;
    await tampered(update("eve"), update("ada"), async () => {
      const { code, stdout } = await verify();
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining(`the decision of action ${first} differs from its seal in batch 1`),
      ]);
      const { stdout: lines } = await verify("--json");
      const [finding, summary] = lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(finding).toEqual({ kind: "row_changed", batch: 1, source: "decision", id: first });
      expect(summary).toMatchObject({ intact: false, findings: 1, rows: 5 });
      const proof = await verify("--action", first);
      expect([proof.code, proof.stdout]).toEqual([1, ""]);
    });
  });

  test("reports a known seal that is missing, and keeps no new one", async () => {
    const file = path("other-heads.ndjson");
    const line = `${JSON.stringify({ batch: 9, hash: "x" })}\n`;
    writeFileSync(file, line);
    const { code, stdout } = await verify("--heads", file);
    expect([code, stdout]).toEqual([1, expect.stringContaining("batch 9")]);
    expect(readFileSync(file, "utf8")).toBe(line);
  });

  test("proves an action, and checks the proof without a database", async () => {
    const proof = await verify("--action", second);
    expect(proof.code).toBe(0);
    const file = path("proof.json");
    writeFileSync(file, proof.stdout);
    const offline = (name: string) => svc(["audit", "verify", "--jwks", jwks, "--proof", name]);
    const { code, stdout } = await offline(file);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ decision of .*ada to planner, allow: sealed .* in batch 1\n✓ exchange/),
    ]);

    const forged = JSON.parse(proof.stdout);
    forged.proofs[0].row.decision = "deny";
    writeFileSync(path("forged.json"), JSON.stringify(forged));
    expect((await offline(path("forged.json"))).code).toBe(1);
    writeFileSync(path("other.json"), JSON.stringify({ ...JSON.parse(proof.stdout), action_id: first }));
    expect((await offline(path("other.json"))).code).toBe(1);
  });

  test("works as its help and the README print it", async () => {
    const helps = [command(), verifyCommand(), verifyExportCommand()].flatMap((each) => examplesOf(helpOf(each)));
    const lines = [...helps, ...readmeExamples()].filter((line) => /audit verify|export .*--to/.test(line));
    expect(lines).toHaveLength(11);
    const { kid } = JSON.parse(readFileSync(jwks, "utf8")).keys[0];
    for (const line of lines) {
      const here = line
        .replaceAll("https://authz.example.com", stack.controlPlane.url)
        .replaceAll(/postgres:\S+/g, stack.database.superuserUrl)
        // A span of the record of this test.
        .replaceAll(/--since 2026\S+ --until 2026\S+/g, "--since 15m --until 10m")
        .replaceAll("--since 30d", "--since 1h");
      const shim = `svc() { "${process.execPath}" "${main}" "$@"; }`;
      const { status, stderr } = spawnSync("bash", ["--norc", "-eo", "pipefail", "-c", `${shim}\n${here}`], {
        cwd: stack.folder,
        encoding: "utf8",
        env: {
          PATH: process.env.PATH,
          AUDIT_DATABASE_URL: stack.database.superuserUrl,
          ACTION_ID: second,
          THUMBPRINT: kid,
        },
      });
      expect([line, status, stderr]).toEqual([line, 0, ""]);
    }
  });

  test("exports evidence, and verifies it without a database", async () => {
    const database = { AUDIT_DATABASE_URL: stack.database.superuserUrl };
    for (const format of ["jsonl", "ocsf", "cloudevents"]) {
      const folder = path(`export-${format}`);
      const written = await svc(["audit", "export", "--since", "1h", "--format", format, "--to", folder], database);
      expect([written.code, written.stderr]).toEqual([0, ""]);
      expect(written.stdout).toMatch(/^✓ 6 rows in 1 batches are in /);
      const offline = (...args: readonly string[]) => svc(["audit", "verify-export", folder, ...args]);
      const intact = await offline("--jwks", jwks);
      expect([intact.code, intact.stdout]).toEqual([
        0,
        expect.stringMatching(/^✓ intact: 6 rows in 1 batches checked$/m),
      ]);
      expect((await offline()).code).toBe(2);
      expect((await offline("--jwks", jwks, "--since", "2h")).stdout).toContain("does not cover the required span");
      const again = await svc(["audit", "export", "--to", folder], database);
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("exists already")]);
      const [rows = ""] = readdirSync(folder).filter((name) => name.startsWith("rows."));
      writeFileSync(join(folder, rows), readFileSync(join(folder, rows), "utf8").replace(first, second));
      const changed = await offline("--jwks", jwks, "--json");
      const [finding] = changed.stdout.split("\n").map((line) => JSON.parse(line || "{}"));
      expect([changed.code, finding]).toEqual([1, expect.objectContaining({ batch: 1, source: expect.any(String) })]);
    }
  });

  test("trusts only the given keys", async () => {
    const other = {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    };
    writeFileSync(path("strangers.json"), JSON.stringify({ keys: [other] }));
    const { code, stdout } = await svc(["audit", "verify", "--jwks", path("strangers.json")], {
      AUDIT_DATABASE_URL: stack.database.superuserUrl,
    });
    expect([code, stdout]).toEqual([1, expect.stringContaining("no key of the given set signed batch 1")]);
  });

  test("works with a role that can only read the record", async () => {
    const address = new URL(stack.database.superuserUrl);
    const role = `auditor_${address.pathname.slice(1)}`;
    const readme = readFileSync(new URL("../../../deploy/postgres/README.md", import.meta.url), "utf8");
    const block = readme.match(/create role svc_auditor[\s\S]*?(?=```)/)?.[0] ?? "";
    for (const statement of block
      .replaceAll("svc_auditor", role)
      .split(";")
      .filter((each) => each.trim() !== "")) {
      await owner.unsafe(statement.replace("database svc ", `database ${address.pathname.slice(1)} `));
    }
    await owner.unsafe(`alter role ${role} password 'p'`);
    const url = Object.assign(new URL(address), { username: role, password: "p" }).href;
    const { code, stderr } = await svc(["audit", "verify", "--jwks", jwks, "--database-url", url]);
    expect([code, stderr]).toEqual([0, ""]);
    await expect(postgres(url, { max: 1 })`select from signing_key`).rejects.toThrow(/permission denied/);
    await owner.unsafe(`drop owned by ${role}; drop role ${role}`);
  });
});

describe("a month whose retention is not sealed yet", () => {
  beforeAll(async () => {
    await owner`insert into retired_month (month) values ('2020-02-01')`;
    await owner`insert into administrative_event (event_id, kind, ts, actor, details)
      values (${idAt(Date.now(), 1)}, 'records_retired', now(), 'retention', '{"month": "2020-02"}')`;
  });

  test("is no finding, and the record is not called intact", async () => {
    const { code, stdout } = await verify();
    expect(code).toBe(0);
    expect(stdout).not.toContain("✓");
    expect(stdout).toMatch(
      /the event by which 2020-02 is past retention is not sealed yet: verify again, after 20\d\d-/,
    );
    const summary = JSON.parse((await verify("--json")).stdout);
    expect(summary).toMatchObject({ intact: null, findings: 0 });
    expect(summary.retired.not_provable_yet).toEqual([{ month: "2020-02", sealed_by: expect.any(String) }]);
  });

  test("is a finding where it stays so for longer than --max-unsealed", async () => {
    const { code, stdout } = await verify("--max-unsealed", "0");
    expect([code, stdout]).toEqual([1, expect.stringContaining("2020-02 is past retention is unsealed for too long")]);
  });
});

describe("what cannot be verified exits 2 with a remedy", () => {
  const database = () => ({ AUDIT_DATABASE_URL: stack.database.superuserUrl });
  test.each<[string, () => readonly string[], () => Record<string, string>, RegExp]>([
    ["no database", () => ["--jwks", jwks], () => ({}), /AUDIT_DATABASE_URL/],
    [
      "a database that is not there",
      () => ["--jwks", jwks],
      () => ({ AUDIT_DATABASE_URL: "postgres://a:s3cret@127.0.0.1:1/x" }),
      /--database-url/,
    ],
    ["no address of one", () => ["--jwks", jwks], () => ({ AUDIT_DATABASE_URL: "s3cret" }), /--database-url/],
    [
      "one without a record",
      () => ["--jwks", jwks],
      () => ({
        AUDIT_DATABASE_URL: Object.assign(new URL(stack.database.superuserUrl), { pathname: "/postgres" }).href,
      }),
      /has no seals/,
    ],
    ["no key set", () => [], database, /--jwks/],
    ["a key set that is none", () => ["--jwks", path("pep.json")], database, /JWKS/],
    ["a key set that is not there", () => ["--jwks", "http://127.0.0.1:1/jwks"], database, /--jwks/],
    ["an action that is not recorded", () => ["--jwks", jwks, "--action", idOf(9)], database, /svc decisions/],
    ["no action", () => ["--jwks", jwks, "--action", "x"], database, /action_id/],
    ["a proof that is none", () => ["--jwks", jwks, "--proof", jwks], database, /--action/],
    ["heads that are none", () => ["--jwks", jwks, "--heads", jwks], database, /batch, hash/],
    ["an export without a database", () => ["--to", path("x")], () => ({}), /AUDIT_DATABASE_URL/],
    ["a filtered export", () => ["--to", path("x"), "--agent", "a"], database, /--agent cannot/],
    ["a folder that cannot be made", () => ["--to", path("x/y/z")], database, /cannot be written/],
    ["a span without seals", () => ["--to", path("x"), "--since", "1s"], database, /--since/],
    ["an export that is none", () => [path(".")], () => ({}), /no manifest.json/],
    ["an age that is none", () => ["--jwks", jwks, "--max-unsealed", "soon"], database, /3600/],
  ])("%s", async (_name, args, env, advice) => {
    const words = args();
    const name = words[0] === "--to" ? "export" : words.length === 1 ? "verify-export" : "verify";
    const { code, stdout, stderr } = await svc(["audit", name, ...words], env());
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(advice);
    expect(stderr).not.toContain("s3cret");
  });
});

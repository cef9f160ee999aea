import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EvidenceFormat, EvidenceRefused, evidenceFormats, writeEvidence } from "@svc/seals";
import { toJwks } from "@svc/tokens";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, poolOf } from "../src/postgres/database.ts";
import { retention } from "../src/postgres/retention.ts";
import { recorder } from "./decision-rows.ts";
import { copyOf, lineFileOf, mutate, randomNumbers, verified } from "./evidence-mutations.ts";
import { aKey, auditConnection, readerOf, sealEverything, sealer } from "./sealing.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const { record, spend, mint, renew, consent } = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 4, statementTimeoutMs: 5_000 });
const auditor = auditConnection(plane.database.superuserUrl);
const owner = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
const [first, second] = await Promise.all([aKey(), aKey()]);
const folder = mkdtempSync(join(tmpdir(), "svc-evidence-"));
const at = (name: string): string => join(folder, name);
const trusted = new Set([second.kid]);
const old = Date.parse("2020-01-01T00:00:00Z");
let middle = 0;

const exported = (name: string, more: Partial<Parameters<typeof writeEvidence>[0]> = {}) =>
  writeEvidence({
    reader: readerOf(auditor),
    folder: at(name),
    format: "jsonl",
    sinceMs: old,
    nowMs: Date.now(),
    ...more,
  });

async function someRows(name: string): Promise<void> {
  await consent();
  const { action_id: actionId } = await record({ acting_agent: name, privileged: true, present: { blocks: ["a"] } });
  await spend(actionId);
  await mint(actionId);
  await renew(new Date());
  await record({ decision: "deny", deny_reason: "TARGET_BLOCKED", acting_agent: name });
}

beforeAll(async () => {
  // A month past retention, a rotated key, batches of several sizes, and text beyond ASCII.
  await owner`select make_decision_partition('2020-02-01'::date)`;
  const time = new Date("2020-02-15T00:00:00Z");
  const { action_id: actionId } = await record({ decided_at: time, privileged: true });
  await spend(actionId);
  await mint(actionId);
  await renew(time);
  await someRows("zoë\u2028 \ufffd 𝛼");
  await sealEverything(sealer(service, () => first, { maxRows: 2 }));
  await owner`update retention set keep_months = 13`;
  const keeper = retention({ pool: poolOf(service, 5_000), clock: { nowMs: Date.now }, ids: { next: uuidv7 } });
  expect(await keeper.retire()).toBe("done");
  await sealEverything(sealer(service, () => first));
  middle = Date.now();
  for (const name of ["ada", "ben"]) {
    await someRows(name);
    await sealEverything(sealer(service, () => second, { maxRows: 7 }));
  }
  for (const format of evidenceFormats) await exported(format, { format });
});
afterAll(async () => {
  await Promise.all([service.end(), auditor.end(), owner.end()]);
  await plane.stop();
  rmSync(folder, { recursive: true, force: true });
});

const rowsFile: Readonly<Record<EvidenceFormat, string>> = {
  jsonl: "rows.jsonl",
  ocsf: "rows.ocsf.jsonl",
  cloudevents: "rows.cloudevents.jsonl",
};

describe.each(evidenceFormats)("an export as %s", (format) => {
  test("verifies, and has every sealed row once", async () => {
    const { code, findings, summary } = await verified({ folder: at(format), trusted });
    expect([code, findings]).toEqual([0, []]);
    const [{ rows } = { rows: "" }] = await auditor`
      select ((select count(*) from session) + (select count(*) from decision) + (select count(*) from spend) +
        (select count(*) from mint) + (select count(*) from administrative_event))::text as rows`;
    expect(summary).toMatchObject({ intact: true, format, rows: Number(rows), retired: 4 });
  });

  test("has files that only their owner reads, and overwrites none", async () => {
    const modes = readdirSync(at(format)).map((name) => statSync(join(at(format), name)).mode & 0o777);
    expect(new Set(modes)).toEqual(new Set([0o600]));
    expect(statSync(at(format)).mode & 0o777).toBe(0o700);
    await expect(exported(format)).rejects.toMatchObject({ code: "EEXIST" });
    expect((await verified({ folder: at(format), trusted })).code).toBe(0);
  });

  test("verifies by the script in its folder, in a directory of its own and without any setting", () => {
    const copy = at("of-a-stranger");
    cpSync(at(format), copy, { recursive: true });
    const keys = join(copy, "issuer.json");
    writeFileSync(keys, JSON.stringify(toJwks([second])));
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [join(copy, "verify.mjs"), ...args], { cwd: "/", env: {}, encoding: "utf8" });
    expect(run("--jwks", keys)).toMatchObject({ status: 0, stderr: "", stdout: expect.stringMatching(/^✓ intact/) });
    expect(run("--key", second.kid)).toMatchObject({ status: 0, stderr: "" });
    // One of 64 thumbprints begins so.
    expect(run("--key", `-${second.kid.slice(1)}`)).toMatchObject({ stderr: "" });
    expect(run()).toMatchObject({ status: 2, stdout: expect.stringContaining(second.kid) });
    const rows = lineFileOf(copy, rowsFile[format]);
    rows.write(rows.read().slice(1));
    expect(run("--jwks", keys)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^✗ the \w+ \S+ was removed/),
    });
    rmSync(join(copy, "manifest.json"));
    expect(run("--jwks", keys)).toMatchObject({ status: 2, stdout: "" });
    rmSync(copy, { recursive: true });
  });

  const count = process.env.TEST_LONG === "true" ? 3_400 : 100;
  test(`shows each of ${count} random changes`, async () => {
    const seed = Date.now() % 1_000_000;
    const random = randomNumbers(seed);
    const files = [rowsFile[format], "seals.jsonl", "lists.jsonl", "keys.json", "retirements.jsonl", "manifest.json"];
    const copy = copyOf(at(format));
    const missed: unknown[] = [];
    for (let made = 0; made < count; ) {
      const mutation = mutate(copy, files, random);
      if (mutation === undefined) continue;
      made++;
      const { code } = await verified({ folder: copy, trusted, sinceMs: old });
      if (code === 0) missed.push({ ...mutation, made });
      cpSync(join(at(format), mutation.file), join(copy, mutation.file));
      // No false alarm.
      if (made % 10 === 0) expect((await verified({ folder: copy, trusted })).findings).toEqual([]);
    }
    expect({ seed, missed }).toEqual({ seed, missed: [] });
  }, 600_000);
});

describe("a changed export", () => {
  const change = (file: string, edit: (lines: string[]) => string[]): string => {
    const copy = copyOf(at("jsonl"));
    const lines = lineFileOf(copy, file);
    lines.write(edit(lines.read()));
    return copy;
  };
  const rows = () => lineFileOf(at("jsonl"), "rows.jsonl").read();
  const idIn = (line: string): string => {
    const { source, row } = JSON.parse(line).leaf;
    const names: Record<string, string> = { session: "session_id", renewal: "renewal_id", event: "event_id" };
    return row[names[source] ?? "action_id"];
  };
  const findingsOf = async (copy: string) => (await verified({ folder: copy, trusted })).findings;
  const named = (kind: string, line: string) => {
    const { batch, index, leaf } = JSON.parse(line);
    return expect.objectContaining({ kind, batch, index, source: leaf.source, id: idIn(line) });
  };

  test.each([0, 3, 7, -1])("names the one row %i that was removed, changed or repeated", async (place) => {
    const line = rows().at(place) ?? "";
    const findings = (edit: (lines: string[], index: number) => void) =>
      findingsOf(
        change("rows.jsonl", (lines) => {
          edit(lines, lines.indexOf(line));
          return lines;
        }),
      );
    expect(await findings((lines, index) => lines.splice(index, 1))).toEqual([
      named("row_removed", line),
      { kind: "totals_changed" },
    ]);
    const forged = line.replace(/"(session_id|event_id)":"[0-9a-f]/, (text) => `${text.slice(0, -1)}e`);
    expect(forged).not.toBe(line);
    expect(await findings((lines, index) => lines.splice(index, 1, forged))).toEqual([
      named("row_changed", line),
      { kind: "totals_changed" },
    ]);
    expect(await findings((lines, index) => lines.splice(index, 0, line))).toEqual([named("row_repeated", line)]);
    expect(await findings((lines, index) => lines.splice(index, 0, forged))).toContainEqual(
      expect.objectContaining({ kind: expect.stringMatching(/row_(changed|inserted|repeated)/) }),
    );
  });

  test("names a row that was moved within its batch, and no other", async () => {
    const batches = Map.groupBy(rows(), (each) => JSON.parse(each).batch);
    const [line = "", ...others] = [...batches.values()].find((each) => each.length > 2) ?? [];
    expect(others.length).toBeGreaterThan(1);
    const last = others.at(-1) ?? "";
    const copy = change("rows.jsonl", (lines) => {
      const left = lines.filter((each) => each !== line);
      return left.toSpliced(left.indexOf(last) + 1, 0, line);
    });
    expect(await findingsOf(copy)).toEqual([named("row_reordered", line)]);
  });

  /** Everything that a forger can make consistent without the key. */
  const cut = (from: number, to: number | undefined): string => {
    const copy = copyOf(at("jsonl"));
    const seals = lineFileOf(copy, "seals.jsonl");
    const kept = seals.read().slice(from, to);
    seals.write(kept);
    const batches = new Set(kept.map((line) => JSON.parse(line).batch));
    for (const file of ["rows.jsonl", "lists.jsonl"]) {
      const lines = lineFileOf(copy, file);
      lines.write(lines.read().filter((line) => batches.has(JSON.parse(line).batch)));
    }
    const { sha256: _, ...manifest } = JSON.parse(readFileSync(join(copy, "manifest.json"), "utf8"));
    const head = JSON.parse(kept.at(-1) ?? "");
    manifest.batches = batches.size;
    manifest.rows = lineFileOf(copy, "rows.jsonl").read().length;
    manifest.head = { batch: head.batch, hash: hashOf(head.statement) };
    writeManifest(copy, manifest);
    return copy;
  };
  const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");
  const writeManifest = (copy: string, members: object): void =>
    writeFileSync(
      join(copy, "manifest.json"),
      `${JSON.stringify({ ...members, sha256: hashOf(JSON.stringify(members)) }, null, 2)}\n`,
    );

  test("shows a cut at either end, where its manifest and its seals were cut as well", async () => {
    expect(await findingsOf(cut(1, undefined))).toContainEqual({ kind: "cut_at_start" });
    expect(await findingsOf(cut(0, -1))).toContainEqual({ kind: "cut_at_end" });
    expect(await findingsOf(cut(0, undefined))).toEqual([]);
  });

  test("shows a span that is not the required one", async () => {
    const copy = copyOf(at("jsonl"));
    const { sha256: _, ...manifest } = JSON.parse(readFileSync(join(copy, "manifest.json"), "utf8"));
    writeManifest(copy, { ...manifest, since: new Date(old + 1).toISOString() });
    const { findings } = await verified({ folder: copy, trusted, sinceMs: old });
    expect(findings).toEqual([{ kind: "span_shorter" }]);
  });

  test("is not excused by a month past retention that no sealed event names", async () => {
    const none = await findingsOf(change("retirements.jsonl", () => []));
    expect(none.map(({ kind }) => kind)).toEqual(["row_removed", "row_removed", "row_removed", "row_removed"]);
    const month = new Date().toISOString().slice(0, 7);
    const other = change("retirements.jsonl", (lines) => lines.map((line) => line.replaceAll("2020-02", month)));
    expect(await findingsOf(other)).toContainEqual({ kind: "retirement_unproven", month });
  });

  test("shows a swapped key: in the export, and where a stranger sealed all of it", async () => {
    const stranger = await aKey();
    const swapped = (kid: string): string => {
      const copy = copyOf(at("jsonl"));
      const { keys } = JSON.parse(readFileSync(join(copy, "keys.json"), "utf8"));
      const others = keys.map((key: { kid: string }) =>
        key.kid === second.kid ? { ...stranger.publicJwk, kid: kid || stranger.kid } : key,
      );
      writeFileSync(join(copy, "keys.json"), `${JSON.stringify({ keys: others }, null, 2)}\n`);
      return copy;
    };
    for (const kid of [second.kid, ""]) {
      const kinds = new Set((await findingsOf(swapped(kid))).map((finding) => finding.kind));
      expect(kinds).toContain("keys_changed");
      expect(kinds).toContain("seal_unknown_key");
    }
    const { code, findings } = await verified({ folder: at("jsonl"), trusted: new Set([stranger.kid]) });
    expect([code, findings]).toEqual([1, [expect.objectContaining({ kind: "not_trusted" })]]);
    expect(await verified({ folder: at("jsonl"), trusted: undefined })).toMatchObject({
      code: 2,
      summary: { intact: null, findings: 0, trusted: false },
    });
  });
});

test("a part of the record is exported in whole batches, and verifies by the newest key alone", async () => {
  const manifest = await exported("part", { sinceMs: middle });
  const seals = lineFileOf(at("part"), "seals.jsonl").read();
  expect(seals.length).toBeLessThan(lineFileOf(at("jsonl"), "seals.jsonl").read().length);
  expect(await verified({ folder: at("part"), trusted, sinceMs: middle })).toMatchObject({ code: 0, findings: [] });
  const earlier = await exported("earlier", { untilMs: middle });
  expect(earlier.until).toBe(new Date(middle).toISOString());
  expect(await verified({ folder: at("earlier"), trusted, untilMs: middle })).toMatchObject({ code: 0, findings: [] });
  expect(earlier.rows + manifest.rows).toBeGreaterThan(0);
});

describe("nothing is exported", () => {
  test("where nothing of the span is sealed", async () => {
    await expect(exported("future", { sinceMs: Date.now() + 60_000 })).rejects.toMatchObject({
      kind: "nothing_sealed",
    });
    expect(readdirSync(folder)).not.toContain("future");
  });

  test("of a record that is not as it was sealed: the row is named, and no folder is left", async () => {
    const undo = new Error("undo");
    const [{ id } = { id: "" }] = await auditor`select action_id::text as id from decision where acting_agent = 'ben'`;
    const changing = auditor.begin(async (tx) => {
      await tx.unsafe("alter table decision disable trigger append_only");
      await tx`update decision set acting_agent = 'eve' where action_id = ${id ?? ""}`;
      const refusal = await exported("forged", { reader: readerOf(tx) }).catch((cause: unknown) => cause);
      expect(refusal).toBeInstanceOf(EvidenceRefused);
      expect(refusal).toMatchObject({ kind: "row_changed", message: expect.stringContaining(id) });
      throw undo;
    });
    await expect(changing).rejects.toBe(undo);
    expect(readdirSync(folder)).not.toContain("forged");
  });
});

test("rows are OCSF API Activity events, and CloudEvents, that hold the same evidence", () => {
  const read = (format: EvidenceFormat) =>
    lineFileOf(at(format), rowsFile[format])
      .read()
      .map((line) => JSON.parse(line));
  const plain = read("jsonl");
  const ocsf = read("ocsf");
  const events = read("cloudevents");
  expect(ocsf.map((event) => event.unmapped.evidence)).toEqual(plain);
  expect(events.map((event) => event.data)).toEqual(plain);
  const denied = ocsf.find((event) => event.status_detail === "TARGET_BLOCKED");
  expect(denied).toMatchObject({
    category_uid: 6,
    class_uid: 6003,
    type_uid: 600_399,
    severity_id: 3,
    status_id: 2,
    actor: { user: { name: expect.any(String) } },
    api: { operation: "planner" },
    src_endpoint: { name: expect.any(String) },
    metadata: { version: "1.3.0", product: { name: "svc" }, uid: expect.stringMatching(/^decision\//) },
  });
  for (const event of ocsf) expect(event.time).toBeGreaterThan(Date.parse("2020-01-01"));
  for (const event of events) {
    expect(event).toMatchObject({
      specversion: "1.0",
      source: "/svc/record",
      type: expect.stringMatching(/^svc\.record\./),
    });
    expect(event.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  }
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
});

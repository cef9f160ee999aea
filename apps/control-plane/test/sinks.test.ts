import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EvidenceFormat, evidenceFormats, idOf, writeEvidence } from "@svc/seals";
import { freePort, requires, startChild, waitUntil, writeCertificate } from "@svc/test-support";
import postgres from "postgres";
import { Webhook } from "standardwebhooks";
import { uuidv7 } from "uuidv7";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { webhookReceiver } from "../src/background/delivery/webhook.ts";
import { runDelivery } from "../src/background/run-delivery.ts";
import { connect, poolOf } from "../src/postgres/database.ts";
import { retention } from "../src/postgres/retention.ts";
import { sinks } from "../src/postgres/sinks.ts";
import { recorder } from "./decision-rows.ts";
import { aKey, auditConnection, marks, openEvent, readerOf, sealEverything, sealer } from "./sealing.ts";
import { type Answering, startSinkReceiver } from "./sink-receiver.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const { sql, record, spend, mint, renew, consent } = await recorder(plane);
const service = connect({ url: plane.database.appUrl, maxConnections: 6, statementTimeoutMs: 5_000 });
const admin = auditConnection(plane.database.superuserUrl);
const key = await aKey();
const hook = await startSinkReceiver();
const clock = { nowMs: Date.now };
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const pool = poolOf(service, 5_000);
const positions = () => sinks({ pool, proof: { authenticity: marks, keys: () => new Map() }, leaseMs: 300 });
const outbox = positions();
const seal = (maxRows = 2_000) => sealEverything(sealer(service, () => key, { maxRows }));
const faults: string[] = [];
let running: ReturnType<typeof runDelivery>[] = [];

interface Delivering extends Partial<Parameters<typeof runDelivery>[0]> {
  readonly format?: EvidenceFormat;
}

function deliver({ format = "jsonl", ...more }: Delivering = {}) {
  const delivery = runDelivery({
    sinks: positions(),
    receiver: webhookReceiver({ url: hook.url, secret, format, authorization: "Splunk abc" }, clock),
    onFault: (error) => faults.push((error as Error).message),
    everyMs: 20,
    pauseMs: () => 20,
    ...more,
  });
  running.push(delivery);
  return delivery;
}

const status = async () => (await outbox.statuses())[0];
const delivered = () => waitUntil("everything to be delivered", async () => (await status())?.undelivered === 0);

/** An action with all that follows from it, and a deny. */
async function someRows(agent = "ada"): Promise<void> {
  await consent();
  const { action_id: actionId } = await record({ acting_agent: agent, privileged: true });
  await spend(actionId);
  await mint(actionId);
  await renew(new Date());
  await record({ acting_agent: agent, decision: "deny", deny_reason: "TARGET_BLOCKED" });
}

/** Of the lines of a sink in JSON: `decision/<id>`. */
const names = (lines = hook.lines()): readonly string[] =>
  lines.map((line) => {
    const { leaf } = JSON.parse(line);
    return leaf === undefined ? "finding" : `${leaf.source}/${idOf(leaf.source, leaf.row)}`;
  });

beforeEach(async () => {
  await seal();
  await admin`delete from sink`;
  await outbox.register("webhook");
  hook.reset();
  faults.length = 0;
});
afterEach(async () => {
  await Promise.all(running.map(({ close }) => close()));
  running = [];
});
afterAll(async () => {
  await hook.stop();
  await Promise.all([sql.end(), service.end(), admin.end()]);
  await plane.stop();
});

describe("a sink", () => {
  test.each(evidenceFormats)(
    "gets every sealed row once as %s, byte for byte the line of an export",
    async (format) => {
      const before = (await status())?.batch ?? 0;
      for (const agent of ["ada", "zoë\u2028 𝛼"]) await someRows(agent);
      await seal(5);
      deliver({ format, maxItems: 3 });
      await delivered();
      const folder = join(mkdtempSync(join(tmpdir(), "svc-sink-")), "export");
      await writeEvidence({ reader: readerOf(admin), folder, format, sinceMs: 0, nowMs: Date.now() });
      const file = { jsonl: "rows.jsonl", ocsf: "rows.ocsf.jsonl", cloudevents: "rows.cloudevents.jsonl" }[format];
      const exported = readFileSync(join(folder, file), "utf8").trimEnd().split("\n");
      rmSync(folder, { recursive: true });
      const lines =
        format === "cloudevents"
          ? hook
              .taken()
              .flatMap(({ body }) => JSON.parse(body.toString()).map((event: object) => JSON.stringify(event)))
          : hook.lines();
      const isLater = (line: string) => Number(/"batch":(\d+)/.exec(line)?.[1]) > before;
      expect(lines).toEqual(exported.filter(isLater));
      expect(lines.length).toBeGreaterThanOrEqual(14);
    },
  );

  test("gets signed messages with its authorization, and each under its own identifier", async () => {
    await someRows();
    await seal();
    deliver({ format: "cloudevents", maxItems: 2 });
    await delivered();
    const ids = hook.taken().map(({ headers, body }) => {
      new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
      expect(headers.authorization).toBe("Splunk abc");
      return headers["webhook-id"];
    });
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(2);
  });

  test("begins after the newest seal, and gets what is older by a replay", async () => {
    const sinceMs = Date.now();
    await someRows();
    await seal(2);
    const older = await status();
    await admin`delete from sink`;
    deliver();
    await waitUntil("it to be registered", async () => (await status()) !== undefined);
    await someRows();
    await seal();
    await delivered();
    const first = names();
    expect((await outbox.replay("webhook", sinceMs))?.undelivered).toBeGreaterThan(first.length);
    await delivered();
    const all = names();
    expect(all.slice(0, first.length)).toEqual(first);
    expect(new Set(all).size).toBe(all.length - first.length);
    expect((await outbox.replay("webhook", Date.now() + 60_000))?.undelivered).toBe(0);
    expect(await outbox.replay("otlp", sinceMs)).toBeUndefined();
    expect(older?.undelivered).toBeGreaterThan(2);
  });

  test("gets a row whose transaction commits after newer rows, and in its place", async () => {
    const late = await openEvent(plane.database.appUrl);
    const { action_id: newer } = await record();
    deliver();
    const seals = sealer(service, () => key);
    for (let n = 0; n < 5; n++) await seals.seal();
    expect(names()).not.toContain(`decision/${newer}`);
    await late.commit();
    await seal();
    await delivered();
    expect(names()).toEqual(expect.arrayContaining([`decision/${newer}`, `event/${late.eventId}`]));
  });

  test("gets each row from one of two processes, and from the other one at once where that ends", async () => {
    for (let n = 0; n < 4; n++) await someRows();
    await seal(3);
    const both = [deliver({ maxItems: 2 }), deliver({ maxItems: 2 })];
    await waitUntil("some rows", () => names().length > 4);
    await both[0]?.close();
    await delivered();
    const all = names();
    // One message may have been taken and not known to be.
    expect(all.length - new Set(all).size).toBeLessThanOrEqual(2);
    expect((await status())?.undelivered).toBe(0);
  });

  test("gets nothing twice in its place where a process was slower than its claim", async () => {
    await someRows();
    await seal();
    const slow = positions();
    const claim = await slow.claim("webhook");
    deliver();
    await delivered();
    expect(await slow.accepted("webhook", { batch: claim?.batch ?? 0, entries: 1 })).toBe(false);
    expect((await status())?.undelivered).toBe(0);
  });
});

describe("the receiver of the guide", () => {
  const [, program = ""] = /<!-- quickstart: receiver.mjs -->\n```js\n([\s\S]*?)```/.exec(
    readFileSync(new URL("../../../docs/guides/siem.md#a-receiver-that-verifies", import.meta.url), "utf8"),
  ) as RegExpExecArray;

  test("takes what is signed by its secret, and nothing else", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "svc-receiver-"));
    writeFileSync(join(cwd, "receiver.mjs"), program);
    const port = String(await freePort());
    const child = startChild(process.execPath, ["receiver.mjs"], { cwd, env: { PORT: port, SINK_SECRET: secret } });
    const url = new URL(`http://127.0.0.1:${port}/`);
    await waitUntil(
      "it to listen",
      async () => (await fetch(url, { method: "POST", redirect: "manual" })).status === 401,
    );
    await someRows();
    await seal();
    const undelivered = (await status())?.undelivered;
    const forged = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    const format = "cloudevents";
    const by = (signedBy: string) =>
      webhookReceiver({ url, secret: signedBy, format, authorization: undefined }, clock);
    const forger = deliver({ receiver: by(forged) });
    await waitUntil("a refusal", async () => (await status())?.lastError === "answered 401");
    await forger.close();
    deliver({ receiver: by(secret) });
    await delivered();
    const taken = readFileSync(join(cwd, "rows.jsonl"), "utf8").trimEnd().split("\n");
    expect(taken.map((line) => JSON.parse(line).type)).toContain("svc.record.decision");
    expect(taken).toHaveLength(undelivered ?? 0);
    await child.stop();
    rmSync(cwd, { recursive: true });
  });
});

describe("a receiver that does not take a message", () => {
  const partial = new Error(`connect to ${hook.url} with ${secret}`);
  test.each<[string, Answering, Delivering, RegExp]>([
    ["is down", () => ({ status: 503 }), {}, /answered 503$/],
    ["fails", () => ({ status: 500 }), {}, /answered 500$/],
    ["refuses it", () => ({ status: 400 }), {}, /answered 400$/],
    ["is busy", () => ({ status: 429, headers: { "retry-after": "0" } }), {}, /answered 429$/],
    [
      "redirects",
      () => ({ status: 307, headers: { location: "/elsewhere" } }),
      {},
      /redirects \(307\), and none is followed$/,
    ],
    ["answers 200 too late", () => "late", { deadlineMs: 100 }, /no answer within 0.1 s$/],
    ["answers 200 without an end", () => "endless", { deadlineMs: 100 }, /no answer within 0.1 s$/],
    ["finds a single row too large", () => ({ status: 413 }), {}, /answered 413 to a single row of \d+ bytes$/],
    [
      "is not reached",
      () => ({ status: 204 }),
      {
        fetch: async () => {
          throw Object.assign(partial, { code: "ECONNREFUSED" });
        },
      },
      /not reached \(ECONNREFUSED\)$/,
    ],
  ])("that %s is sent the same rows until it takes them", async (_what, answering, more, fault) => {
    await someRows();
    await seal();
    hook.answer(answering);
    const failing = deliver({ maxItems: 4, ...more });
    await waitUntil("the third failure", async () => ((await status())?.failures ?? 0) >= 3);
    expect(await status()).toMatchObject({ lastError: expect.stringMatching(fault), deliveredAtMs: null });
    expect((await status())?.failingSinceMs).toBeGreaterThan(0);
    // Once for an outage, not for each try.
    expect(faults).toEqual([expect.stringMatching(fault)]);
    expect(hook.taken()).toEqual([]);
    await failing.close();
    hook.reset();
    deliver();
    await delivered();
    expect(new Set(names()).size).toBeGreaterThanOrEqual(5);
    expect(await status()).toMatchObject({ failures: 0, lastError: null, failingSinceMs: null, undelivered: 0 });
  });

  requires("openssl").test("whose certificate no known authority signed gets no row", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-receiver-"));
    const { certFile, keyFile } = writeCertificate(folder, "receiver", "IP:127.0.0.1");
    const take = vi.fn<RequestListener>((_request, response) => response.writeHead(204).end());
    const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, take);
    rmSync(folder, { recursive: true });
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await someRows();
    await seal();
    deliver({ receiver: webhookReceiver({ url, secret, format: "jsonl", authorization: "Splunk abc" }, clock) });
    await waitUntil(
      "a failure",
      async () => (await status())?.lastError === "not reached (DEPTH_ZERO_SELF_SIGNED_CERT)",
    );
    expect(take).not.toHaveBeenCalled();
  });

  test("blocks its own sink, and not the other one", async () => {
    const shared = positions();
    await shared.register("otlp");
    await someRows();
    await seal();
    hook.answer(() => "endless");
    deliver({ sinks: shared, deadlineMs: 100, pauseMs: () => 60_000 });
    const statusOf = async (name: string) => (await shared.statuses()).find(({ sink }) => sink === name);
    await waitUntil("a failure", async () => (await statusOf("webhook"))?.failures === 1);
    const other = await startSinkReceiver();
    onTestFinished(other.stop);
    const receiver = webhookReceiver({ url: other.url, secret, format: "jsonl", authorization: undefined }, clock);
    deliver({ sinks: shared, receiver: { ...receiver, sink: "otlp" } });
    await waitUntil("the other's rows", async () => (await statusOf("otlp"))?.undelivered === 0);
    expect(new Set(names(other.lines())).size).toBeGreaterThanOrEqual(5);
    expect([hook.taken(), (await statusOf("webhook"))?.failures]).toEqual([[], 1]);
  });

  test("is not tried before its Retry-After", async () => {
    await someRows();
    await seal();
    hook.answer(() => ({ status: 429, headers: { "retry-after": "30" } }));
    deliver();
    await waitUntil("a failure", async () => ((await status())?.failures ?? 0) === 1);
    const waits = ((await status())?.retryAtMs ?? 0) - Date.now();
    expect(Math.abs(waits - 30_000)).toBeLessThan(15_000);
    expect(await positions().claim("webhook")).toBeUndefined();
  });

  test("as too large gets halves of it, and misses nothing", async () => {
    for (let n = 0; n < 3; n++) await someRows();
    await seal();
    hook.answer(({ body }) => ({ status: body.toString().trimEnd().split("\n").length > 3 ? 413 : 200 }));
    deliver({ maxItems: 16 });
    await delivered();
    const sizes = hook.requests.map(({ body }) => body.toString().trimEnd().split("\n").length);
    expect(sizes.slice(0, 4)).toEqual([16, 8, 4, 2]);
    expect(new Set(names()).size).toBe(names().length);
    expect(faults).toEqual([]);
  });
});

describe("what is not as it was sealed", () => {
  const findings = () => hook.lines().flatMap((line) => JSON.parse(line).finding ?? []);
  const asOwner = (statement: string) =>
    admin.begin(async (tx) => {
      await tx.unsafe("set local session_replication_role = replica");
      await tx.unsafe("alter table decision disable trigger all");
      await tx.unsafe(statement);
      await tx.unsafe("alter table decision enable always trigger append_only");
      await tx.unsafe("alter table decision enable always trigger append_only_whole");
    });

  test("is delivered as a finding, with what the database has of the row", async () => {
    const [changed, removed, kept] = [await record(), await record(), await record()];
    await seal();
    await asOwner(`update decision set target = 'other' where action_id = '${changed.action_id}'`);
    await asOwner(`delete from decision where action_id = '${removed.action_id}'`);
    // Between two sealed identifiers.
    const inserted = `${kept.action_id.slice(0, -12)}000000000000`;
    await record({ action_id: inserted });
    deliver({ maxItems: 2 });
    await delivered();
    expect(findings()).toEqual([
      expect.objectContaining({
        kind: "row_changed",
        id: changed.action_id,
        row: expect.objectContaining({ target: "other" }),
      }),
      { kind: "row_removed", source: "decision", id: removed.action_id },
      expect.objectContaining({
        kind: "row_inserted",
        id: inserted,
        row: expect.objectContaining({ action_id: inserted }),
      }),
    ]);
    expect(names()).toContain(`decision/${kept.action_id}`);
  });

  test("and went with its month is one finding for each table", async () => {
    const owner = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
    await admin.unsafe("alter table seal disable trigger all; truncate seal");
    await admin.unsafe("alter table seal enable always trigger append_only, enable always trigger append_only_whole");
    await admin`delete from sink`;
    await outbox.register("webhook");
    await owner`select make_decision_partition('2020-02-01'::date)`;
    const at = new Date("2020-02-15T00:00:00Z");
    const { action_id: actionId } = await record({ decided_at: at, privileged: true });
    await record({ decided_at: at });
    await spend(actionId);
    await seal();
    await owner`update retention set keep_months = 13`;
    expect(await retention({ pool, clock, ids: { next: uuidv7 } }).retire()).toBe("done");
    await owner.end();
    deliver({ maxItems: 50 });
    await delivered();
    const retired = findings().filter(({ kind }) => kind === "rows_retired");
    expect(retired).toEqual([
      { kind: "rows_retired", source: "decision", month: "2020-02", rows: 2 },
      { kind: "rows_retired", source: "exchange", month: "2020-02", rows: 1 },
    ]);
  });
});

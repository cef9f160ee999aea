import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { PushedKind } from "@svc/core";
import { ownBudgets, startControlPlane, startEnforcementPoint, testBearers } from "@svc/test-support";
import { generatePrivateJwk } from "@svc/tokens";
import { createVerifier } from "@svc/verifier";
import postgres from "postgres";
import { ascending, quantile } from "./measure/statistics.ts";
import { progress } from "./progress.ts";
import { Answered, admin, put, remove, untilAvailable } from "./rig/admin.ts";
import { delegate, registerLine, takeHop } from "./rig/agents.ts";
import { readTool } from "./rig/stack.ts";
import { startStores } from "./rig/stores.ts";

const usage = `pnpm bench push [--streams 100]

How long after an act the calls that it concerns end: event streams through three enforcement points, and admissions of a verifier,
with two control planes over one database. Acts are made at the first control plane; the time begins when another connection to the
database sees the act, at most some milliseconds after its commit. A minute.`;

const scope = "push";
const enforcementPoints = 3;
const warmingStreams = 12;
const patienceMs = 60_000;

type Rig = Awaited<ReturnType<typeof startRig>>;

/** Two control planes, three enforcement points that follow them in turns, and a tool whose answers do not end. */
async function startRig() {
  const stores = await startStores();
  const tool = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
  });
  await new Promise<void>((listening) => tool.listen(0, "127.0.0.1", listening));
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-push-"));
  const configFile = join(folder, "upstreams.json");
  const route = { methods: ["GET"], path: "/read", target: readTool.ref, data_class: readTool.data_classes[0] };
  const url = `http://127.0.0.1:${(tool.address() as AddressInfo).port}`;
  writeFileSync(configFile, JSON.stringify({ upstreams: [{ name: "bench", url, routes: [route] }] }));
  const shared = { database: await stores.database(), redis: stores.redis };
  const settings = {
    ...{ SVC_ISSUER: "https://issuer.test", SVC_ISSUER_PRIVATE_KEY: JSON.stringify(await generatePrivateJwk()) },
    ...ownBudgets,
  };
  const first = await startControlPlane(shared, settings);
  const second = await startControlPlane(shared, settings);
  const peps = await Promise.all(
    Array.from({ length: enforcementPoints }, (_, index) =>
      startEnforcementPoint([first, second][index % 2]?.url ?? "", configFile, {
        ...ownBudgets,
        SVC_PEP_ENFORCEMENT_TOKEN: testBearers.enforcement,
      }),
    ),
  );
  const commits = watchCommits(shared.database.ownerUrl);
  return {
    first,
    second,
    peps,
    committedMs: commits.committedMs,
    async stop() {
      await commits.stop();
      for (const pep of peps) pep.kill();
      await Promise.all([...peps.map(({ exited }) => exited), first.stop(), second.stop()]);
      tool.closeAllConnections();
      tool.close();
      rmSync(folder, { recursive: true, force: true });
      await stores.stop();
    },
  };
}

interface Stream {
  readonly sessionId: string;
  /** When it ended, by `performance.now()`. */
  readonly ended: Promise<number>;
}

/** Looks for acts as fast as it can. @returns when the database had the act that `key` names, by `performance.now()` */
function watchCommits(url: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const seenMs = new Map<string, number>();
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const rows = await sql<{ key: string }[]>`
        select coalesce(session_id::text, kind) as key from pushed_event join administrative_event using (event_id)`;
      for (const { key } of rows) if (!seenMs.has(key)) seenMs.set(key, performance.now());
      await delay(2);
    }
  })();
  return {
    committedMs: (key: string) => seenMs.get(key) ?? Number.NaN,
    async stop() {
      isStopped = true;
      await watching;
      await sql.end();
    },
  };
}

/** An event stream that is open, in a session of its own. */
async function openStream({ first }: Rig, pepUrl: string, inScope: string): Promise<Stream> {
  const consent = { scope: inScope, user_sub: "bench" };
  const granted = await admin<{ session_id: string; root_grant: string }>(first.url, "/v1/consent", consent);
  const headers = { authorization: `Bearer ${granted.root_grant}`, "x-svc-session": granted.session_id };
  return new Promise((resolve, reject) => {
    const sent = request(`${pepUrl}/bench/read`, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) return reject(new Answered(pepUrl, response.statusCode ?? 0, "no stream"));
      const ended = new Promise<number>((end) => response.once("close", () => end(performance.now())));
      response.on("error", () => {}).resume();
      resolve({ sessionId: granted.session_id, ended });
    });
    sent.on("error", reject);
    sent.end();
  });
}

async function openStreams(rig: Rig, count: number, inScope: string): Promise<readonly Stream[]> {
  const streams: Stream[] = [];
  for (let opened = 0; opened < count; opened++) {
    const url = rig.peps[opened % rig.peps.length]?.url ?? "";
    streams.push(await untilAvailable(() => openStream(rig, url, inScope)));
  }
  return streams;
}

const endedWithin = (streams: readonly Stream[]): Promise<readonly number[]> =>
  Promise.race([
    Promise.all(streams.map(({ ended }) => ended)),
    delay(patienceMs, undefined, { ref: false }).then(() => {
      throw new Error(`a stream did not end within ${patienceMs} ms`);
    }),
  ]);

/** One act for each stream, ten milliseconds apart. */
async function bySessionEnd({ first, committedMs }: Rig, streams: readonly Stream[]): Promise<readonly number[]> {
  for (const { sessionId } of streams) {
    await admin(first.url, `/v1/sessions/${sessionId}/revoke`, {});
    await delay(10);
  }
  const ended = await endedWithin(streams);
  return streams.map(({ sessionId }, index) => (ended[index] ?? Number.NaN) - committedMs(sessionId));
}

/** One act that ends all of them. */
async function byOneAct(
  { committedMs }: Rig,
  streams: readonly Stream[],
  { kind, act }: { readonly kind: PushedKind; readonly act: () => Promise<unknown> },
): Promise<readonly number[]> {
  await act();
  return (await endedWithin(streams)).map((endedMs) => endedMs - committedMs(kind));
}

/** From the end of a session to the refusal of its token, by a verifier that follows the other control plane. */
async function byVerifier({ first, second, committedMs }: Rig, count: number): Promise<readonly number[]> {
  const line = await registerLine(first.url, "push-verified", 1);
  const verifier = createVerifier({
    ...{ issuer: "https://issuer.test", audience: readTool.ref, jwksUrl: `${first.url}/.well-known/jwks.json` },
    identityView: { url: second.url, token: testBearers.identity, push: true },
  });
  const took: number[] = [];
  try {
    await verifier.ready();
    for (let sample = 0; sample < count; sample++) {
      const credential = await delegate(first.url, line, 1);
      const token = await takeHop(first.url, credential, {
        target: readTool.ref,
        targetKind: "tool",
        dataClass: "bench",
      });
      const headers = { authorization: `Bearer ${token}`, "x-svc-session": credential.sessionId };
      await verifier.admit({ headers, dataClass: "bench" });
      await admin(first.url, `/v1/sessions/${credential.sessionId}/revoke`, {});
      while (
        await verifier.admit({ headers, dataClass: "bench" }).then(
          () => true,
          () => false,
        )
      )
        await delay(1);
      took.push(performance.now() - committedMs(credential.sessionId));
    }
  } finally {
    verifier.close();
  }
  return took;
}

function print(name: string, tookMs: readonly number[]): void {
  const sorted = ascending(tookMs);
  const cells = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1) ?? Number.NaN];
  progress("");
  console.log(`| ${[name, String(sorted.length), ...cells.map((ms) => ms.toFixed(0))].join(" | ")} |`);
}

export async function benchPush(args: readonly string[]): Promise<void> {
  const options = { streams: { type: "string", default: "100" }, help: { type: "boolean", short: "h" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return console.log(usage);
  const count = Number(values.streams);
  const rig = await startRig();
  try {
    const register = async (name: string, inScope: string): Promise<string> => {
      const manifest = { scopes: { [inScope]: { hop_budget: 2, tools: [readTool] } } };
      const body = { name, manifest, override: { reason: "a benchmark" } };
      return (await admin<{ agent_id: string }>(rig.first.url, "/v1/agents", body)).agent_id;
    };
    await register("push-agent", scope);
    const revoked = await register("push-revoked", "push-revoked");
    // The first heartbeat has come to every enforcement point.
    await delay(1_000);
    console.log("| act | samples | p50 ms | p99 ms | longest ms |\n| --- | --- | --- | --- | --- |");
    await bySessionEnd(rig, await openStreams(rig, warmingStreams, scope));
    print("session ended, each its own", await bySessionEnd(rig, await openStreams(rig, count, scope)));
    const block = `${rig.first.url}/v1/blocks/tool/${encodeURIComponent(readTool.ref)}`;
    const blocking = { kind: "block_set", act: () => put(block, { reason: "a benchmark" }) } as const;
    print("tool blocked", await byOneAct(rig, await openStreams(rig, count, scope), blocking));
    await remove(block);
    const revoking = () => admin(rig.first.url, `/v1/agents/${revoked}/revoke`, {});
    const streams = await openStreams(rig, count, "push-revoked");
    print("agent revoked", await byOneAct(rig, streams, { kind: "agent_revoked", act: revoking }));
    print("session ended, at a verifier", await byVerifier(rig, Math.ceil(count / 4)));
  } finally {
    await rig.stop();
  }
}

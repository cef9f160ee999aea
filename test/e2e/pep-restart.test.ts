import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Stand } from "@svc/test-conformance/stand";
import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { callerOf, headersOf, openGuarded } from "./src/pep/guarded.ts";
import { expectEachRecorded } from "./src/pep/record.ts";
import { type Restartable, startRestartable } from "./src/pep/restartable.ts";

let stand: Stand;
beforeAll(async () => {
  stand = await openGuarded();
});
afterAll(() => stand?.stop());

async function enforcementPoint(prepare?: (stateDir: string) => void): Promise<Restartable> {
  const point = await startRestartable(stand, prepare);
  onTestFinished(() => point.stop());
  return point;
}

async function agentOf({ url, stateDir }: Restartable) {
  const headers = await headersOf(stand);
  const session = headers["x-svc-session"];
  const { call, close } = callerOf(`${url}/app`, headers);
  onTestFinished(close);
  const outcome = () =>
    call("/read").then(
      ({ status, blocked }) => blocked ?? status,
      () => "cut",
    );
  return {
    outcome,
    session,
    passes: () => waitUntil("a call to pass", async () => (await outcome()) === 200),
    stateFile: join(
      stateDir,
      `${createHash("sha256").update(headers.authorization.slice(7)).digest("base64url")}.json`,
    ),
    arrivals: () =>
      stand.upstream.requests
        .filter(({ rawHeaders }) => rawHeaders.includes(session))
        .map(({ rawHeaders }) => ({ authorization: rawHeaders[rawHeaders.indexOf("authorization") + 1] })),
  };
}

test("after repeated kills under load it continues every session and uses no token twice", async () => {
  const point = await enforcementPoint();
  const agents = await Promise.all(Array.from({ length: 4 }, () => agentOf(point)));
  const seen = new Set<string | number>();
  let isOver = false;
  const keepCalling = async ({ outcome }: (typeof agents)[number]) => {
    while (!isOver) seen.add(await outcome());
  };
  const calling = agents.flatMap((agent) => [keepCalling(agent), keepCalling(agent)]);
  for (let life = 0; life < 5; life++) {
    const before = stand.upstream.requests.length;
    // A lost renewal costs a spare token; each run lasts until every session has renewed.
    await Promise.all(agents.map(({ passes }) => passes()));
    await waitUntil("calls to arrive", () => stand.upstream.requests.length > before + 50 + 7 * life);
    await point.kill();
    await point.start();
  }
  await Promise.all(agents.map(({ passes }) => passes()));
  isOver = true;
  await Promise.all(calling);
  // Right after a start the control plane may respond too late for a call; no token is refused.
  for (const outcome of seen) expect([200, "cut", "pdp_unreachable", "exchange_unreachable"]).toContain(outcome);
  for (const { session, arrivals } of agents) await expectEachRecorded(stand, session, arrivals());
});

describe("a damaged state folder", () => {
  const damages: [string, (file: string) => void][] = [
    ["an empty file", (file) => truncateSync(file, 0)],
    ["half a file", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ["other bytes", (file) => writeFileSync(file, Buffer.alloc(1_000, 0xff))],
    ["another shape", (file) => writeFileSync(file, '{"tokens":[]}')],
    [
      "a folder",
      (file) => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
  ];
  test.each(damages)(
    "with %s: that session is blocked, since its token may be spent, and others continue",
    async (_name, damage) => {
      const point = await enforcementPoint();
      const [one, other] = [await agentOf(point), await agentOf(point)];
      await Promise.all([one.passes(), other.passes()]);
      await point.kill();
      damage(one.stateFile);
      await point.start();
      const before = one.arrivals().length;
      expect(await one.outcome()).toBe("other");
      await other.passes();
      expect(one.arrivals()).toHaveLength(before);
    },
  );

  test("with one session's state under another's name: the call is blocked", async () => {
    const point = await enforcementPoint();
    const [one, other] = [await agentOf(point), await agentOf(point)];
    await Promise.all([one.passes(), other.passes()]);
    await point.kill();
    execFileSync("cp", [other.stateFile, one.stateFile]);
    await point.start();
    const before = one.arrivals().length;
    expect(await one.outcome()).toBe("unauthorized");
    expect(one.arrivals()).toHaveLength(before);
  });

  test("that cannot be created stops the start, and the error names the setting", async () => {
    const starting = startRestartable(stand, (stateDir) => writeFileSync(stateDir, "a file"));
    await expect(starting).rejects.toThrow(/SVC_PEP_STATE_DIR must name a folder that can be written to \(EEXIST\)/);
  });
});

requires("mounts").test(
  "a full state folder blocks calls that need a token from storage, and all pass when there is space again",
  async () => {
    const point = await enforcementPoint((stateDir) => {
      const mounted = mkdtempSync(join(tmpdir(), "svc-full-"));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mounted]);
      symlinkSync(mounted, stateDir);
      onTestFinished(() => {
        execFileSync("umount", [mounted]);
        rmdirSync(mounted);
      });
    });
    const agent = await agentOf(point);
    await agent.passes();
    const filler = join(point.stateDir, "filler");
    try {
      writeFileSync(filler, Buffer.alloc(64 * 1024));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
    // One at a time, each brings the token of the next, which is not stored.
    const together = () => Promise.all(Array.from({ length: 8 }, agent.outcome));
    await waitUntil("calls to be blocked", async () => (await together()).includes("other"));
    const before = agent.arrivals().length;
    const outcomes = await together();
    expect(outcomes).toContain("other");
    expect(agent.arrivals()).toHaveLength(before + outcomes.filter((outcome) => outcome === 200).length);
    rmSync(filler);
    await agent.passes();
    await expectEachRecorded(stand, agent.session, agent.arrivals());
    expect(readdirSync(point.stateDir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  },
);

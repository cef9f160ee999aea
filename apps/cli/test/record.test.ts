import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliStack, clerkManifest, startClerkStack } from "./stack.ts";
import { start, svc } from "./svc.ts";

let stack: CliStack;

beforeAll(async () => {
  stack = await startClerkStack();
});
afterAll(() => stack.stop());

const script =
  "const t = await fetch(process.env.SVC_PEP_URL + process.argv[1], { method: process.argv[2] }); console.log(t.status, (await t.text()).trim())";
const agent = (path: string, method = "GET") => [
  "--",
  process.execPath,
  "--input-type=module",
  "-e",
  script,
  path,
  method,
];
const runAs = (mode: string, ...call: readonly string[]) =>
  stack.svc(
    "run",
    "--scope",
    "books",
    "--user",
    "ada",
    "--agent",
    "clerk",
    "--upstreams",
    stack.upstreams,
    "--mode",
    mode,
    ...call,
  );

describe("svc run", () => {
  test("runs a command behind an enforcement point, with its output and its exit code", async () => {
    const { code, stdout, stderr } = await runAs("enforce", ...agent("/ledger/read"));
    expect([code, stdout]).toEqual([0, "200 ledger /read\n"]);
    expect(stderr).toContain("0 denied");
    const failing = await runAs("enforce", "--", process.execPath, "-e", "process.exit(7)");
    expect(failing.code).toBe(7);
  });

  test("acts as the scope's entry agent where none is named, so that the agent is in the record", async () => {
    const { stdout } = await stack.svc(
      ...["run", "--scope", "books", "--user", "solo", "--upstreams", stack.upstreams, ...agent("/ledger/read")],
    );
    expect(stdout).toBe("200 ledger /read\n");
    const [session] = await stack.json("sessions", "list", "--user", "solo");
    const calls = await stack.json("decisions", "--session", session.session_id, "--target-kind", "tool");
    expect(calls.map(({ acting_agent, hop }) => [acting_agent, hop])).toEqual([["clerk", 2]]);
  });

  test("names the choices where the scope has several entry agents, and starts nothing", async () => {
    for (const name of ["clerk-two", "tutor-two"]) {
      const scopes = { two: clerkManifest.manifest.scopes.books };
      const file = join(stack.folder, `${name}.json`);
      writeFileSync(file, JSON.stringify({ agent: name, manifest: { scopes } }));
      await stack.svc("manifest", "submit", file, "--override", "a test");
    }
    const { code, stdout, stderr } = await stack.svc(
      ...["run", "--scope", "two", "--user", "ada", "--upstreams", stack.upstreams, ...agent("/ledger/read")],
    );
    expect([code, stdout]).toEqual([1, ""]);
    expect(await stack.json("sessions", "list", "--scope", "two")).toEqual([]);
    expect(stderr).toMatch(/scope "two" has several entry agents[\s\S]*--agent: clerk-two, tutor-two/);
  });

  test("blocks undeclared calls, and lists them at the end", async () => {
    const { stdout, stderr } = await runAs("enforce", ...agent("/ledger/post", "POST"));
    expect(stdout).toMatch(/^403 /);
    expect(stderr).toMatch(/1 denied[\s\S]*deny TARGET_NOT_DECLARED {2}http:ledger\/post/);
  });

  test("blocks nothing in observe mode, and lists what it would have blocked", async () => {
    const { stdout, stderr } = await runAs("observe", ...agent("/ledger/post", "POST"));
    expect(stdout).toBe("200 ledger /post\n");
    expect(stderr).toMatch(/would deny TARGET_NOT_DECLARED {2}http:ledger\/post/);
  });

  test("gives the command no bearer of a plane", async () => {
    const { stdout } = await runAs("enforce", "--", process.execPath, "-e", "console.log(JSON.stringify(process.env))");
    for (const token of Object.values(stack.env).slice(1)) expect(stdout).not.toContain(token);
  });

  test("forwards a signal, and ends with it", async () => {
    const running = start(
      [
        "run",
        "--scope",
        "books",
        "--user",
        "ada",
        "--upstreams",
        stack.upstreams,
        "--",
        process.execPath,
        "-e",
        "console.log('up'); setInterval(() => {}, 1e6)",
      ],
      stack.env,
    );
    await waitUntil("the command to run", () => running.stdout().includes("up"));
    running.kill("SIGTERM");
    expect((await running.ended).code).toBe(128 + 15);
  });

  test("names the command that cannot be run", async () => {
    const { code, stderr } = await runAs("enforce", "--", "/no/such/command");
    expect(code).toBe(2);
    expect(stderr).toContain("/no/such/command cannot be run");
  });
});

describe("reading the record", () => {
  beforeAll(async () => {
    await runAs("enforce", ...agent("/ledger/post", "POST"));
    await runAs("observe", ...agent("/ledger/post", "POST"));
  });

  test("decisions are listed and filtered", async () => {
    const denied = await stack.json("decisions", "--outcome", "deny", "--enforced", "--target-kind", "tool");
    expect(denied[0]).toMatchObject({ decision: "deny", enforced: true, target: "http:ledger/post" });
    const { stdout } = await stack.svc("decisions", "--observed", "--limit", "1");
    expect(stdout).toMatch(/would deny TARGET_NOT_DECLARED {2}clerk {2,}http:ledger\/post/);
    const [session] = await stack.json("sessions", "list", "--limit", "1");
    const ofPerson = (user: string) =>
      stack.json(
        "decisions",
        "--user",
        user,
        "--scope",
        "books",
        "--target",
        "http:ledger/post",
        "--protocol",
        "without",
      );
    const targets = (await ofPerson(session.user_sub)).map(({ target }) => target);
    expect(new Set(targets)).toEqual(new Set(["http:ledger/post"]));
    expect(await ofPerson("another person")).toEqual([]);
    expect((await stack.svc("decisions", "--since", "yesterday")).code).toBe(2);
    expect((await stack.svc("decisions", "--observed", "--enforced")).code).toBe(2);
  });

  test("a deny is explained, with the check that failed, the remedy and the chain", async () => {
    const [denied] = await stack.json("decisions", "--outcome", "deny", "--enforced", "--limit", "1");
    const { stdout } = await stack.svc("explain", denied.action_id);
    expect(stdout).toMatch(/^deny TARGET_NOT_DECLARED {2}clerk → http:ledger\/post for finance\.entries/);
    expect(stdout).toMatch(
      /✗ target[\s\S]*To admit it[\s\S]*Chain\n {2}ada consented[\s\S]*└─ 1 clerk {2}allow\n.*└─ 2 http:ledger\/post {2}deny/,
    );
    const [{ explanation, chain }] = await stack.json("explain", denied.action_id);
    expect(explanation.deny_reason).toBe("TARGET_NOT_DECLARED");
    expect(chain.complete).toBe(true);
    expect((await stack.svc("explain", "0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d")).code).toBe(1);
  });

  test("a candidate manifest is replayed on the record, and a call that it would deny is exit code 1", async () => {
    const { books } = clerkManifest.manifest.scopes;
    const candidate = (refs: readonly object[]) => {
      const file = join(stack.folder, "candidate.json");
      writeFileSync(
        file,
        JSON.stringify({ agent: "clerk", manifest: { scopes: { books: { ...books, tools: refs } } } }),
      );
      return file;
    };
    const post = { ref: "http:ledger/post", data_classes: ["finance.entries"] };
    const wider = await stack.svc("replay", "--manifest", candidate([...books.tools, post]), "--since", "1h");
    expect(wider.stdout).toMatch(
      /^allow +\d+ +clerk +http:ledger\/post +finance\.entries +TARGET_NOT_DECLARED +books /m,
    );
    expect(wider.stdout).toMatch(/ judged: 0 would be denied, [1-9]\d* would be allowed\./);
    expect(wider.code).toBe(0);
    const narrower = await stack.svc("replay", "--manifest", candidate([]), "--agent", "clerk", "--json");
    expect(narrower.code).toBe(1);
    const { judged, complete, changes } = JSON.parse(narrower.stdout);
    expect([judged > 0, complete]).toEqual([true, true]);
    expect(changes[0]).toMatchObject({ becomes: "deny", agent: "clerk", deny_reason: "TARGET_NOT_DECLARED" });
    const example = await stack.svc("explain", changes[0].action_ids[0]);
    expect(example.stdout).toMatch(/^allow/);
    expect((await stack.svc("replay", "--manifest", candidate(books.tools))).stdout).toContain(
      "The candidate changes no decision.\n",
    );
    expect((await stack.svc("replay", "--manifest", join(stack.folder, "none.yaml"))).code).toBe(2);
  });

  test("calls that enforcement would block yield the manifest that admits them", async () => {
    const { stdout } = await stack.svc("would-block", "--since", "1h");
    expect(stdout).toMatch(/calls +agent[\s\S]*clerk +http:ledger\/post +finance\.entries +TARGET_NOT_DECLARED +open /);
    expect(stdout).toMatch(/^\d+ left: enforcing blocks them; --emit-manifest proposes/m);
    expect((await stack.svc("would-block", "--fail-on-open")).code).toBe(1);
    const folder = join(stack.folder, "proposed");
    const proposed = await stack.svc("would-block", "--scope", "books", "--emit-manifest", folder);
    expect(proposed.stdout).toContain("Let clerk call http:ledger/post for finance.entries.");
    expect(proposed.stdout).toMatch(/ ! .*may then call it/);
    const file = join(folder, "clerk.json");
    expect(await stack.svc("manifest", "submit", file, "--override", "read and wanted")).toMatchObject({ code: 0 });
    const { stdout: called } = await runAs("enforce", ...agent("/ledger/post", "POST"));
    expect(called).toBe("200 ledger /post\n");
    expect((await stack.svc("would-block", "--emit-manifest", folder)).code).toBe(2);
  });

  test("calls that the newest policy admits are not left, and not proposed", async () => {
    const { code, stdout } = await stack.svc("would-block", "--fail-on-open");
    expect(code).toBe(0);
    expect(stdout).toMatch(/http:ledger\/post +finance\.entries +TARGET_NOT_DECLARED +admitted since version 2 /);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("0 left: safe to enforce");
    const folder = join(stack.folder, "nothing-proposed");
    const proposed = await stack.svc("would-block", "--scope", "books", "--emit-manifest", folder);
    expect([proposed.stdout, readdirSync(folder)]).toEqual(["0 left: safe to enforce\n", []]);
  });

  test("nothing is called safe where no call was observed", async () => {
    const { stdout } = await stack.svc("would-block", "--until", "2020-01-01T00:00:00Z");
    expect(stdout).toBe(
      "No call of observe mode was denied.\n0 left, but no call was observed: enforcement points need SVC_PEP_MODE=observe.\n",
    );
  });
});

const idsIn = (ndjson: string): string[] =>
  ndjson
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).action_id);

/** A UUIDv7: spans are read by it. */
function idAt(at: Date): string {
  const hex = at.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** A decision that was made at `at` and is committed when `commit` is called. */
async function lateDecision(at: Date) {
  const sql = postgres(stack.database.ownerUrl, { max: 1, onnotice: () => {} });
  const opened = Promise.withResolvers<string>();
  const gate = Promise.withResolvers<void>();
  const done = sql.begin(async (tx) => {
    const [row] = await tx<{ action_id: string }[]>`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version, decided_at)
      select ${idAt(at)}, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version, ${at}
      from decision limit 1 returning action_id`;
    opened.resolve(row?.action_id ?? "");
    await gate.promise;
  });
  const actionId = await opened.promise;
  return {
    actionId,
    async commit() {
      gate.resolve();
      await done;
      await sql.end();
    },
  };
}

describe("every decision is printed once", () => {
  test("by --follow, one that is committed after later ones too", async () => {
    const following = start(["decisions", "--follow", "--json", "--since", "1m"], stack.env);
    await waitUntil("it to follow", () => following.stdout() !== "");
    const late = await lateDecision(new Date());
    const later = await lateDecision(new Date());
    await later.commit();
    // The time that its write takes: several looks at the record, and less than the horizon.
    await delay(2_500);
    await late.commit();
    await runAs("enforce", ...agent("/ledger/read"));
    const expected = (await stack.json("decisions", "--since", "5m", "--limit", "1000")).map(
      ({ action_id }) => action_id,
    );
    const [newest] = expected;
    await waitUntil("the newest to be followed", () => following.stdout().includes(newest));
    following.kill("SIGINT");
    const { code, stdout } = await following.ended;
    expect(code).toBe(0);
    const followed = idsIn(stdout);
    expect(followed).toContain(late.actionId);
    expect(new Set(followed).size).toBe(followed.length);
    expect(expected.slice(0, followed.length).sort()).toEqual([...followed].sort());
  });

  test("by an export, which rejects a file that was truncated or removed since", async () => {
    await runAs("enforce", ...agent("/ledger/read"));
    await (await lateDecision(new Date(Date.now() - 60_000))).commit();
    const output = join(stack.folder, "cut.ndjson");
    const args = ["audit", "export", "--since", "1h", "--output", output];
    expect((await svc(args, stack.env)).code).toBe(0);
    writeFileSync(output, readFileSync(output, "utf8").slice(0, 100));
    const cut = await svc(args, stack.env);
    expect(cut).toMatchObject({ code: 2, stdout: "" });
    expect(cut.stderr).toContain("is shorter than it was");
    expect(readFileSync(output, "utf8")).toHaveLength(100);
    rmSync(output);
    const gone = await svc(args, stack.env);
    expect([gone.code, gone.stderr.includes("is shorter than it was")]).toEqual([2, true]);
  });

  test("by an export that is killed again and again", async () => {
    const sql = postgres(stack.database.ownerUrl, { max: 1, onnotice: () => {} });
    await sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version, decided_at)
      select (left(h, 8) || '-' || substr(h, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version,
        now() - interval '2 hours' + n * interval '1 second'
      from (select * from decision limit 1) d cross join generate_series(1, 7000) n
      cross join lateral (
        select lpad(to_hex((extract(epoch from now() - interval '2 hours' + n * interval '1 second') * 1000)::bigint), 12, '0') as h
      ) t order by n`;
    const until = new Date(Date.now() - 30_000).toISOString();
    const [{ count }] = await sql<
      [{ count: number }]
    >`select count(*)::int as count from decision where decided_at < ${until}`;
    await sql.end();
    const output = join(stack.folder, "decisions.ndjson");
    const args = ["audit", "export", "--since", "3h", "--until", until, "--output", output];
    for (const killAfterBytes of [1, 400_000, 1_500_000]) {
      const exporting = start(args, stack.env);
      const size = () => {
        try {
          return readFileSync(output).length;
        } catch {
          return 0;
        }
      };
      await waitUntil("it to have written some", () => size() >= killAfterBytes);
      exporting.kill("SIGKILL");
      await exporting.ended;
    }
    expect((await svc(args, stack.env)).code).toBe(0);
    const ids = idsIn(readFileSync(output, "utf8"));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(count);
    const times = readFileSync(output, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).ts);
    expect(times).toEqual([...times].sort());
    const other = await svc(
      ["audit", "export", "--since", "3h", "--outcome", "deny", "--until", until, "--output", output],
      stack.env,
    );
    expect(other).toMatchObject({ code: 2 });
  });
});

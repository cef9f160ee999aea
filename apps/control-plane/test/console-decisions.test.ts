import { denyReasons } from "@svc/core";
import { afterAll, describe, expect, test } from "vitest";
import { ids, type Seen, startConsole, unescaped } from "./console-support.ts";

const { records, look, api, stop } = await startConsole();
afterAll(stop);

describe("decisions", () => {
  test("are paged newest first, each row once", async () => {
    const written = [];
    for (let at = 0; at < 7; at += 1) written.unshift((await records.record({ acting_agent: "pager" })).action_id);
    const seen: string[] = [];
    let path: string | undefined = "/console/decisions?agent=pager&limit=3";
    while (path !== undefined) {
      const page: Seen = await look(path);
      seen.push(...ids(page.text));
      path = /<a rel="next" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&");
    }
    expect(seen).toEqual(written);
  });

  test("a cursor of another filter is rejected, as in the API", async () => {
    const page = await look("/console/decisions?limit=1");
    const cursor = /cursor=([\w-]+)/.exec(page.text)?.[1];
    const refused = await look(`/console/decisions?limit=1&outcome=deny&cursor=${cursor}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("filter again for the first page");
  });

  test.each([
    ["outcome", "deny"],
    ["deny_reason", "TAINT_BLOCKED"],
    ["enforced", "false"],
    ["agent", "filtered"],
    ["target_kind", "tool"],
    ["privileged", "true"],
    ["taint", "untrusted_external"],
    ["session_id", ""],
    ["user_sub", "filtered-person"],
    ["scope", "filtered-scope"],
    ["target", "mcp:filtered/read"],
    ["order", "oldest"],
  ])("%s filters as in the API", async (name, given) => {
    await records.register("filterer", "filtered-scope");
    const other = await records.consent("filtered-scope", "filtered-person");
    await records.record({
      decision: "deny",
      deny_reason: "TAINT_BLOCKED",
      enforced: false,
      acting_agent: "filtered",
      target: "mcp:filtered/read",
      target_kind: "tool",
      privileged: true,
      taint: "untrusted_external",
      session_id: other,
    });
    const value = given === "" ? other : given;
    const expected = (await api(`/v1/audit/decisions?${name}=${value}`)).data as unknown as { action_id: string }[];
    const shown = ids((await look(`/console/decisions?${name}=${value}&since=&until=`)).text);
    expect(expected.length).toBeGreaterThan(0);
    expect(shown).toEqual(expected.map(({ action_id: id }) => id));
  });

  test("hides the messages of MCP sessions until they are asked for", async () => {
    const call = { acting_agent: "messenger", target_kind: "tool" };
    const { action_id: message } = await records.record({ ...call, target: "mcp:ledger", data_class: "protocol" });
    const { action_id: used } = await records.record({ ...call, target: "mcp:ledger/read" });
    const page = await look("/console/decisions?agent=messenger");
    expect(ids(page.text)).toEqual([used]);
    const shown = /href="([^"]+)">(?:<bdi>)?Show them/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(ids((await look(shown)).text)).toEqual([used, message]);
    expect(ids((await look("/console/decisions?agent=messenger&protocol=true")).text)).toEqual([message]);
  });

  describe("exported", () => {
    const file = async (extension: string, query: string) => {
      const { status, headers, text } = await look(`/console/decisions.${extension}?${query}`);
      expect([status, headers.get("content-disposition")?.includes(`.${extension}"`)]).toEqual([200, true]);
      return text;
    };

    test("as JSON lines are the rows of the API", async () => {
      const { data } = await api("/v1/audit/decisions?agent=pager");
      const lines = (await file("jsonl", "agent=pager")).trimEnd().split("\n");
      expect(lines.map((line) => JSON.parse(line))).toEqual(data);
    });

    test("as CSV have the same values, and no cell that a spreadsheet takes for a formula", async () => {
      const formulas = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\tx", 'quoted "a", b'];
      for (const target of formulas) await records.record({ acting_agent: "sheet", target });
      const [head = "", ...lines] = (await file("csv", "agent=sheet&order=oldest")).trimEnd().split("\r\n");
      expect(head.split(",")).toContain("deny_reason");
      const at = head.split(",").indexOf("target");
      const cells = lines.map(
        (line) => [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, cell]) => cell)[at],
      );
      expect(cells).toEqual([
        `"'=HYPERLINK(""http://x"",""y"")"`,
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\tx",
        '"quoted ""a"", b"',
      ]);
    });

    test("with a wrong filter lead to the form that shows the fault", async () => {
      const refused = await look("/console/decisions.csv?since=soon");
      expect([refused.status, refused.headers.get("location")]).toEqual([303, "/console/decisions?since=soon"]);
    });
  });

  test("a time can be entered without seconds and offset, and stays in the form", async () => {
    const page = await look("/console/decisions?since=2026-01-31%2012:00&until=2026-02-01");
    expect(page.status).toBe(200);
    expect(page.text).toContain('value="2026-01-31 12:00"');
    expect(page.text).toContain("No decisions match");
    const minuteMs = 60_000;
    const startMs = Math.floor(Date.now() / minuteMs) * minuteMs - 5 * minuteMs;
    const { action_id: id } = await records.record({ decided_at: new Date(startMs + minuteMs / 2) });
    const minute = (at: number) => new Date(startMs + at * minuteMs).toISOString().slice(0, 16).replace("T", " ");
    const shown = async (since: number) =>
      ids(
        (await look(`/console/decisions?${new URLSearchParams({ since: minute(since), until: minute(since + 1) })}`))
          .text,
      );
    expect([await shown(-1), await shown(0), await shown(1)]).toEqual([[], [id], []]);
  });

  test.each([
    ["outcome=perhaps", "f-outcome", "perhaps"],
    ["since=soon", "f-since", "soon"],
    ["since=2026-02-02&until=2026-01-01", "f-since", "2026-02-02"],
    ["last=2h&agent=kept", "f-last", "kept"],
    ["last=1h&until=2026-01-01", "f-last", "2026-01-01"],
    ["nonsense=typed", undefined, "nonsense"],
  ])("?%s keeps the form as it was filled in, with the fault beside its field", async (query, field, typed) => {
    const { status, text } = await look(`/console/decisions?${query}`);
    expect(status).toBe(400);
    expect(text).toContain("This filter cannot be applied");
    expect(text).not.toMatch(/Invalid option|Unrecognized key/);
    expect(text).toContain(typed);
    expect(text).not.toContain("<table");
    const faulty = [
      ...text.matchAll(/<(?:input|select) id="([^"]+)"[^>]* aria-invalid="true" aria-describedby="([^"]+)"/g),
    ];
    expect(faulty.map(([, id]) => id)).toEqual(field === undefined ? [] : [field]);
    for (const [, , fault] of faulty) expect(text).toContain(`<p class="fault" id="${fault}">`);
  });

  test("a relative span begins so long ago, and its pages share that beginning", async () => {
    const agent = "spanner";
    for (const minutes of [5, 30, 45]) {
      await records.record({ acting_agent: agent, decided_at: new Date(Date.now() - minutes * 60_000) });
    }
    const first = await look(`/console/decisions?agent=${agent}&last=1h&limit=2`);
    const next = /<a rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const second = await look(next);
    expect([ids(first.text).length, ids(second.text).length]).toEqual([2, 1]);
    expect(ids((await look(`/console/decisions?agent=${agent}&last=15m`)).text)).toHaveLength(1);
  });

  test("a repeated parameter is rejected with the fault", async () => {
    const refused = await look("/console/decisions?outcome=deny&outcome=allow");
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("<h1>Invalid address</h1>");
  });
});

describe("an action", () => {
  test.each(denyReasons)("denied for %s has the explanation of the API", async (reason) => {
    const { action_id: id } = await records.record({
      decision: "deny",
      deny_reason: reason,
      target: "http:crm/read",
      target_kind: "tool",
    });
    const { checks, remedy } = (await api(`/v1/audit/actions/${id}/explanation`)) as unknown as {
      checks: { check: string; passed: boolean }[];
      remedy: string;
    };
    const page = unescaped((await look(`/console/actions/${id}`)).text);
    expect(page).toContain(`(${reason})`);
    expect(page).toContain(remedy);
    expect(page.match(/(?:yes|no): denied</g)).toHaveLength(1);
    const before = checks.findIndex(({ passed }) => !passed);
    expect(page.match(/<span class="badge allow">(?:yes|no)</g) ?? []).toHaveLength(before);
  });

  test("shows its chain back to the person, as a drawing and as text", async () => {
    const first = await records.record();
    await records.spend(first.action_id);
    const second = await records.record({
      hop: 2,
      chain: ["planner"],
      acting_agent: "planner",
      target: "mcp:ledger/read",
      target_kind: "tool",
      parent_action_id: first.action_id,
    });
    const page = (await look(`/console/actions/${second.action_id}`)).text;
    expect(page).toContain('aria-label="Delegation chain: person ada, then agent planner, then tool mcp:ledger/read"');
    expect(page).toContain("hop 1 · finance.entries");
    expect(ids(page).toSorted()).toEqual([first.action_id, second.action_id].toSorted());
  });

  test("with an incomplete chain shows the hop and the reason", async () => {
    const { action_id: id } = await records.record({ hop: 2, chain: ["planner"], acting_agent: "planner" });
    const page = (await look(`/console/actions/${id}`)).text;
    expect(page).toContain("The chain breaks at hop 2");
    expect(page).toContain("LEGACY_TOKEN");
  });
});

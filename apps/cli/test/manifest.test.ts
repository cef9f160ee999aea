import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type CliStack, startCliStack } from "./stack.ts";
import { main, svc } from "./svc.ts";

let stack: CliStack;
beforeAll(async () => {
  stack = await startCliStack();
});
afterAll(() => stack.stop());

const write = (name: string, text: string): string => {
  const file = join(stack.folder, name);
  writeFileSync(file, text);
  return file;
};
const submit = (file: string, ...more: string[]) => stack.svc("manifest", "submit", file, ...more);
const attested = ["--override", "a test"];

/** Stored text of the version in force. */
async function storedText(agent: string, scope: string): Promise<string> {
  const url = `${stack.controlPlane.url}/v1/manifests/${scope}?agent=${agent}`;
  const read = await fetch(url, { headers: { authorization: `Bearer ${stack.env.SVC_ADMIN_TOKEN}` } });
  return /"doc":(.*)\}$/s.exec(await read.text())?.[1] ?? "";
}

/** A server that lists these refs, or fails while `isDown` is set. */
async function startSource(refs: readonly string[]) {
  const source = { refs, isDown: false };
  const server = createServer((_request, response) => {
    response.statusCode = source.isDown ? 500 : 200;
    response.end(JSON.stringify({ tools: source.refs.map((ref) => ({ ref })) }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(source, { url });
}

const manifestOf = (agent: string, refs: readonly string[], discovery?: object): string =>
  JSON.stringify({
    agent,
    manifest: {
      ...(discovery && { discovery }),
      scopes: { [`of-${agent}`]: { hop_budget: 2, tools: refs.map((ref) => ({ ref, data_classes: ["notes"] })) } },
    },
  });

describe("what svc manifest show prints", () => {
  const texts = {
    yaml: "agent: yaml\nmanifest:\n  scopes:\n    of-yaml:\n      hop_budget: 2\n      tools:\n        - { ref: 'http:a/yes', data_classes: ['true', n] }\n",
    spaced: '{"agent": "spaced",\n"manifest": { "scopes": {"of-spaced": {"hop_budget": 2.0, "tools": []}}}}',
    escaped: '{"agent":"escaped","manifest":{"scopes":{"of-escaped":{"hop_budget":2},"\\u0061b":{"hop_budget":2}}}}',
  };

  test.each(Object.entries(texts))(
    "is taken by lint, diff and submit, and keeps every byte: %s",
    async (agent, text) => {
      await submit(write(`${agent}.txt`, text), ...attested);
      const stored = await storedText(agent, `of-${agent}`);
      for (const flags of [[], ["--json"]]) {
        const shown = await stack.svc("manifest", "show", `of-${agent}`, "--agent", agent, ...flags);
        const file = write(`${agent}.shown`, shown.stdout);
        expect((await svc(["manifest", "lint", file])).code).toBe(0);
        expect((await stack.svc("manifest", "diff", file)).code).toBe(0);
        const again = await submit(file);
        expect(again.stdout).toContain(`${agent} is unchanged`);
        const renamed = shown.stdout.replace(/(\bagent"?: ?"?\w+)/, "$1-2");
        expect((await submit(write(`${agent}.new`, renamed), ...attested)).code).toBe(0);
        expect(await storedText(`${agent}-2`, `of-${agent}`)).toBe(stored);
      }
    },
  );

  test("is YAML for people, where that keeps the bytes", async () => {
    const { stdout } = await stack.svc("manifest", "show", "of-yaml", "--agent", "yaml");
    expect(stdout).toMatch(
      /^# yaml version 1, attested, attested by \S+, \S+\nagent: yaml\nmanifest:\n {2}scopes:\n[\s\S]*- ref: http:a\/yes\n/,
    );
  });

  test("is read from standard input as -", async () => {
    const pipe = `"$NODE" "$MAIN" manifest show of-yaml --agent yaml | "$NODE" "$MAIN" manifest diff -`;
    const env = { ...stack.env, NODE: process.execPath, MAIN: main, PATH: process.env.PATH };
    const { stdout } = await promisify(execFile)("sh", ["-c", pipe], { env });
    expect(stdout).toContain("- matches the accepted manifest.");
  });
});

test("svc manifest schema prints the published schema", async () => {
  const published = new URL("../../../docs/schemas/manifest.schema.json", import.meta.url);
  expect((await svc(["manifest", "schema"])).stdout).toBe(readFileSync(published, "utf8"));
});

describe("svc manifest submit", () => {
  test("leaves the document that is in force unchanged", async () => {
    const file = write("same.json", manifestOf("same", ["http:a/b"]));
    await submit(file, ...attested);
    for (const more of [[], attested]) {
      const { code, stdout } = await submit(file, ...more);
      expect([code, stdout]).toEqual([
        0,
        "✓ same is unchanged: this document is in force, and its tools did not change\nIn force: same version 1, attested.\n",
      ]);
    }
    expect(await stack.json("manifest", "submit", file)).toEqual([
      { agent_id: expect.any(String), manifest_version: 1, status: "attested", unchanged: true, in_force: 1 },
    ]);
  });

  test("makes a new version of it where discovery now confirms what a person attested", async () => {
    const source = await startSource(["http:a/b"]);
    source.isDown = true;
    const file = write("later.json", manifestOf("later", ["http:a/b"], { kind: "http", url: source.url }));
    await submit(file, ...attested);
    expect((await submit(file)).stdout).toContain("later is unchanged");
    source.isDown = false;
    expect((await submit(file)).stdout).toContain("✓ later version 2 is reconciled");
  });

  test("reports a refusal as a table with remedies, the ref that was meant, and the version that still counts", async () => {
    const source = await startSource(["http:shop/list_orders", "http:shop/pay"]);
    const discovery = { kind: "http", url: source.url };
    await submit(write("shop.json", manifestOf("shop", ["http:shop/pay"], discovery)));
    const typo = write("shop-2.json", manifestOf("shop", ["http:shop/list_order", "http:shop/pya"], discovery));
    const { code, stdout, stderr } = await submit(typo);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^http:shop\/list_order +exceeds +http:shop\/list_order +not advertised$/m);
    expect(stderr).toContain("    Remove http:shop/list_order from the manifest, or have its server advertise it");
    expect(stderr).toContain("    Did you mean http:shop/list_orders?");
    expect(stderr).toContain("    Did you mean http:shop/pay?");
    expect(stderr).toContain("\nIn force: shop version 1, reconciled.\n");
    const [refused] = await stack.json("manifest", "submit", typo);
    expect(refused).toMatchObject({ agent: "shop", status: "rejected", in_force: 1, diff: [{}, {}] });
  });

  test("accepts the sample of its own help", async () => {
    const { stdout } = await svc(["manifest", "submit", "--help"]);
    const sample = /^ {2}agent: .*?(?=\n\n)/ms.exec(stdout)?.[0] ?? "";
    const file = write("sample.yaml", sample.replaceAll(/^ {2}/gm, ""));
    expect((await svc(["manifest", "lint", file])).code).toBe(0);
    expect((await submit(file, ...attested)).stdout).toContain("✓ planner version 1 is attested");
  });
});

describe("svc manifest approve", () => {
  const approve = (agent: string, ...more: string[]) =>
    stack.svc("manifest", "approve", agent, "--reason", "seen it", ...more);

  test("accepts the newest version that needs review, after it said what is attested", async () => {
    const source = await startSource(["http:b/read"]);
    const discovery = { kind: "http", url: source.url };
    await submit(write("b.json", manifestOf("b", ["http:b/read"], discovery)));
    source.isDown = true;
    const text = manifestOf("b", ["http:b/read", "http:b/write"], discovery);
    const refused = await submit(write("b-2.json", text));
    expect(refused.stderr).toContain("In force: b version 1, reconciled.");

    const unsure = await approve("b");
    expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    expect(unsure.stdout).toMatch(/^You attest version 2 of b[\s\S]*http:b\/write +undiscovered/);
    const { code, stdout } = await approve("b", "--yes");
    expect(code).toBe(0);
    expect(stdout).toContain("✓ b version 3 is attested");
    expect(stdout).toContain("In force: b version 3, attested.");
    expect(await storedText("b", "of-b")).toBe(JSON.stringify(JSON.parse(text).manifest));
    const [report] = await stack.json("manifest", "report", "b");
    expect(report).toMatchObject({ attestation: { reason: "seen it" }, in_force: { version: 3, scopes: ["of-b"] } });
  });

  test("accepts nothing that contradicts what its server says by now", async () => {
    const source = await startSource(["http:c/read"]);
    const discovery = { kind: "http", url: source.url };
    await submit(write("c.json", manifestOf("c", ["http:c/read"], discovery)));
    source.isDown = true;
    await submit(write("c-2.json", manifestOf("c", ["http:c/gone"], discovery)));
    source.isDown = false;
    const { code, stderr } = await approve("c", "--yes");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^http:c\/gone +exceeds/m);
    expect(stderr).toContain("In force: c version 1, reconciled.");
  });

  test("says what to do where nothing waits, and where the agent was never registered", async () => {
    await submit(write("d.json", manifestOf("d", ["http:d/read"])), ...attested);
    expect((await approve("d", "--yes")).stderr).toContain("version 1 of d is attested: nothing waits for a review");
    await submit(write("e.json", manifestOf("e", ["http:e/read"])));
    const { code, stderr } = await approve("e", "--yes");
    expect([code, stderr]).toEqual([1, expect.stringContaining('svc manifest submit FILE --override "seen it"')]);
  });
});

import { aManifest, aTool } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { submitter } from "./submitting.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const { register, resubmit } = submitter(plane);

describe("a manifest reads back exactly as submitted", () => {
  const doc =
    '{ "scopes" : {"exact é 漢 \\u00e9":{"tools":[{"ref":"http:x/y","access":"read", "data_classes":["b","a"]}],\n"hop_budget":1e0}},\t"discovery":[{"url":"http://h.test/","kind":"http"}]}';
  const scope = encodeURIComponent("exact é 漢 é");

  test("same members, same order, same spelling of numbers and text", async () => {
    const body = `{"manifest":${doc},\n"override":{}, "name":"exact-agent"}`;
    expect(await plane.send("/v1/agents", { body })).toMatchObject({ status: 201 });
    const read = await plane.send(`/v1/manifests/${scope}`);
    expect(read.text).toContain(`"doc":${doc}`);
    expect(read.json.doc).toEqual(JSON.parse(doc));
  });

  test.each(["1.0", "1e0", "10E-1", "1.00000"])("a budget written %s stays so", async (number) => {
    const text = `{"scopes":{"spelled":{"hop_budget":${number}}}}`;
    const name = `spelled-${number.toLowerCase().replaceAll(/[^a-z0-9]/g, "-")}`;
    await plane.send("/v1/agents", { body: `{"name":"${name}","manifest":${text},"override":{}}` });
    expect((await plane.send(`/v1/manifests/spelled?agent=${name}`)).text).toContain(`"doc":${text}`);
  });
});

describe("reading a manifest", () => {
  test("takes the newest that touches the scope, an agent's, or a version's", async () => {
    await register("reader-one", aManifest("shared", { tools: [aTool("http:j/one")] }));
    await register("reader-two", aManifest("shared", { tools: [aTool("http:j/two")] }));
    await resubmit("reader-two", aManifest("shared", { tools: [aTool("http:j/three")] }));
    const read = async (search: string) => (await plane.send(`/v1/manifests/shared${search}`)).json;
    expect(await read("")).toMatchObject({ agent: "reader-two", version: 2 });
    expect(await read("?agent=reader-one")).toMatchObject({ agent: "reader-one", version: 1 });
    expect(await read("?agent=reader-two&version=1")).toMatchObject({ agent: "reader-two", version: 1 });
    expect(await read("?version=9")).toMatchObject({ error: { code: "manifest_version_not_found" } });
    expect(await read("?agent=nobody")).toMatchObject({ error: { code: "scope_not_found" } });
  });

  test.each([
    "?version=0",
    "?version=1.0",
    "?version=-1",
    "?version=x",
    "?version=1&version=1",
    "?version=99999999999",
  ])("with %s is a malformed query", async (search) => {
    expect((await plane.send(`/v1/manifests/shared${search}`)).json).toMatchObject({
      error: { code: "invalid_request" },
    });
  });

  test("keeps look-alike scopes apart, byte by byte", async () => {
    const names = [
      "а",
      "a",
      "A",
      "a ",
      "a/b",
      "a%2Fb",
      "%",
      "_",
      "\\",
      "'; drop table agent; --",
      "é",
      "e\u0301",
      "😀",
    ];
    for (const [index, name] of names.entries()) await register(`look-alike-${index}`, aManifest(name));
    for (const [index, name] of names.entries()) {
      const read = await plane.send(`/v1/manifests/${encodeURIComponent(name)}`);
      expect(read.json).toMatchObject({ agent: `look-alike-${index}` });
    }
  });
});

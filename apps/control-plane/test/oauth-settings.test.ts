import { describe, expect, test } from "vitest";
import { isAuthentic } from "../src/people/clients.ts";
import { oauthClients, resourceList, secondsByScope } from "../src/start/setting-readers.ts";

const notebook = {
  client_id: "notebook",
  client_name: "Notebook",
  redirect_uris: ["https://notebook.test/callback"],
};
const secret = "a-secret-of-at-least-32-characters";
const read = (clients: unknown) =>
  oauthClients.safeParse(typeof clients === "string" ? clients : JSON.stringify(clients));

describe("SVC_OAUTH_CLIENTS", () => {
  test("is read by client_id; a secret is kept as its hash", () => {
    const known = read([notebook, { ...notebook, client_id: "backend", client_secret: secret, agent: "planner" }]).data;
    expect([...(known?.keys() ?? [])]).toEqual(["notebook", "backend"]);
    const backend = known?.get("backend");
    expect(JSON.stringify(backend)).not.toContain(secret);
    expect(
      backend && [isAuthentic(backend, secret), isAuthentic(backend, `${secret}x`), isAuthentic(backend, undefined)],
    ).toEqual([true, false, false]);
    const open = known?.get("notebook");
    expect(open && [isAuthentic(open, undefined), isAuthentic(open, secret)]).toEqual([true, false]);
  });

  test.each<[string, unknown, string]>([
    ["no JSON", "{", "must be JSON"],
    ["no array", notebook, "expected array"],
    ["a client without its id", [{ ...notebook, client_id: undefined }], "expected string"],
    ["an id of other letters", [{ ...notebook, client_id: "notizbüch" }], "printable ASCII"],
    ["a client without a name", [{ ...notebook, client_name: "" }], "Too small"],
    ["a client without an address", [{ ...notebook, redirect_uris: [] }], "Too small"],
    ["http on another host", [{ ...notebook, redirect_uris: ["http://notebook.test/"] }], "must be https"],
    ["a script as an address", [{ ...notebook, redirect_uris: ["javascript:alert(1)"] }], "must be https"],
    ["a short secret", [{ ...notebook, client_secret: "short-secret" }], "Too small"],
    ["an agent that is no name", [{ ...notebook, agent: "a b" }], ""],
    ["a member that is not known", [{ ...notebook, redirect_uri: "https://notebook.test/" }], "redirect_uri"],
    ["one id twice", [notebook, notebook], "each client_id must be named once"],
  ])("refuses %s, and repeats no secret", (_name, clients, fault) => {
    const { error } = read(clients);
    expect(error?.message).toContain(fault);
    expect(error?.message).not.toContain("short-secret");
  });
});

describe("SVC_CONSENT_TTL_BY_SCOPE", () => {
  test("is read by scope; the scope's name may hold an equals sign", () => {
    const read = secondsByScope.parse("payments-approval=60, a=b=86400");
    expect([...read]).toEqual([
      ["payments-approval", 60],
      ["a=b", 86_400],
    ]);
  });

  test.each(["payments-approval", "a=59", "a=86401", "a=1e4", "a=060000", "=60", "a=-60", "a=60.5"])(
    "refuses %s",
    (text) => {
      expect(secondsByScope.safeParse(text).error?.message).toContain("must be scope=seconds");
    },
  );

  test("refuses one scope twice", () => {
    expect(secondsByScope.safeParse("a=60,a=120").error?.message).toContain("each scope must be named once");
  });
});

describe("SVC_OAUTH_RESOURCES", () => {
  test("is a list of addresses", () => {
    expect(resourceList.parse("https://tools.test/,http://10.0.0.7/a")).toHaveLength(2);
  });

  test.each([
    "tools.test",
    "ftp://tools.test/",
    "https://tools.test/?a",
    "https://tools.test/#a",
    "https://ada@tools.test/",
  ])("refuses %s", (text) =>
    expect(resourceList.safeParse(text).error?.message).toContain("must be an http or https URL"),
  );
});

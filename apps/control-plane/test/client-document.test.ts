import type { RequestListener } from "node:http";
import { expect, test } from "vitest";
import { clientDocuments } from "../src/discovery/client-document.ts";
import { loopback, serve } from "./discovery-support.ts";

/** The document of a client at the server's `/client`; `make` writes its text from its id. */
async function reading(make: (id: string) => string | Buffer, status = 200, headers: Record<string, string> = {}) {
  let count = 0;
  const answer: RequestListener = (request, response) => {
    count += 1;
    const id = `http://${request.headers.host}/client`;
    response.writeHead(request.url === "/client" ? status : 200, { "content-type": "application/json", ...headers });
    response.end(request.url === "/client" ? make(id) : good(id));
  };
  const { url } = await serve(answer);
  const read = clientDocuments(loopback);
  return { id: `${url}/client`, read: () => read(`${url}/client`), requests: () => count };
}

const facts = (id: string) => ({
  client_id: id,
  client_name: "Notebook",
  redirect_uris: ["https://notebook.test/callback"],
});
const good = (id: string): string => JSON.stringify(facts(id));
const withFacts = (more: object) => (id: string) => JSON.stringify({ ...facts(id), ...more });

test("a client's document names it and its addresses, and is read once", async () => {
  const { id, read, requests } = await reading(
    withFacts({ client_uri: "https://notebook.test/", token_endpoint_auth_method: "none" }),
  );
  const client = { clientId: id, name: "Notebook", redirectUris: ["https://notebook.test/callback"] };
  expect(await read()).toEqual(client);
  expect(await read()).toEqual(client);
  expect(requests()).toBe(1);
});

test("a client without a name is shown by its host", async () => {
  const { id, read } = await reading(withFacts({ client_name: undefined }));
  expect(await read()).toMatchObject({ name: new URL(id).host });
});

test("a document of exactly 5 KiB is read", async () => {
  const { read } = await reading((id) => good(id).padEnd(5_120));
  expect(await read()).toMatchObject({ name: "Notebook" });
});

test.each<[string, (id: string) => string | Buffer, RegExp]>([
  ["of another client_id", withFacts({ client_id: "https://other.test/client" }), /of another client_id/],
  [
    "of a client_id that is nearly its address",
    (id) => JSON.stringify({ ...facts(id), client_id: `${id}/` }),
    /of another client_id/,
  ],
  ["with a secret", withFacts({ client_secret: "a secret that all can read" }), /no secret/],
  ["with the end of a secret", withFacts({ client_secret_expires_at: 0 }), /no secret/],
  [
    "of a client that authenticates",
    withFacts({ token_endpoint_auth_method: "private_key_jwt" }),
    /no client id metadata/,
  ],
  ["without a client_id", withFacts({ client_id: undefined }), /no client id metadata/],
  ["without addresses", withFacts({ redirect_uris: [] }), /no client id metadata/],
  ["with http on another host", withFacts({ redirect_uris: ["http://notebook.test/"] }), /no client id metadata/],
  ["with a script as an address", withFacts({ redirect_uris: ["javascript:alert(1)"] }), /no client id metadata/],
  ["over 5 KiB", (id) => good(id).padEnd(5_121), /at most 5 KiB/],
  ["that is no JSON", () => "<html>", /no client id metadata/],
  ["that is no object", () => "[]", /no client id metadata/],
  ["that is empty", () => "", /no client id metadata/],
  ["that is no UTF-8", () => Buffer.from([0x22, 0xff, 0x22]), /no client id metadata/],
])("a document %s is refused, and read again the next time", async (_name, make, why) => {
  const { read, requests } = await reading(make);
  await expect(read()).rejects.toThrow(why);
  await expect(read()).rejects.toThrow(why);
  expect(requests()).toBe(2);
});

test.each([301, 302, 307, 308])("a redirect (%i) is not followed, even to a good document", async (status) => {
  const { read, requests } = await reading(() => "", status, { location: "/elsewhere" });
  await expect(read()).rejects.toThrow("cannot be read: redirect");
  expect(requests()).toBe(1);
});

test.each([204, 401, 404, 500])("an answer of %i is refused", async (status) => {
  const { read } = await reading(good, status);
  await expect(read()).rejects.toThrow(`answered with ${status}`);
});

test.each([
  ["a name", "notebook"],
  ["http on another host", "http://notebook.test/client"],
  ["a host without a path", "https://notebook.test/"],
  ["a host without a slash", "https://notebook.test"],
  ["a fragment", "https://notebook.test/client#a"],
  ["credentials", "https://ada:secret@notebook.test/client"],
  ["dots", "https://notebook.test/a/../client"],
  ["another spelling of the host", "https://NOTEBOOK.test/client"],
  ["a script", "javascript:alert(1)"],
  ["a file", "file:///etc/passwd"],
])("an id that is %s is no address of a document", async (_name, id) => {
  const never = () => expect.unreachable("no name is resolved");
  await expect(clientDocuments([], never)(id)).rejects.toThrow(/neither one of the settings nor/);
});

test.each(["10.0.0.7", "169.254.169.254", "192.168.1.1", "[fd00::1]"])(
  "a document at the internal address %s is not read",
  async (host) => {
    await expect(clientDocuments([])(`https://${host}/client`)).rejects.toThrow(/cannot be read: /);
  },
);

test("a document at a name that leads to an internal address is not read", async () => {
  const resolve = async () => [{ address: "169.254.169.254", family: 4 }];
  await expect(clientDocuments([], resolve)("https://notebook.test/client")).rejects.toThrow(/cannot be read: /);
});

test("a document on loopback is read only where the settings admit that", async () => {
  const { id, requests } = await reading(good);
  await expect(clientDocuments([])(id)).rejects.toThrow(/cannot be read: /);
  expect(requests()).toBe(0);
});

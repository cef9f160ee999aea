import { renameSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { waitUntil } from "@svc/test-support";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Authority, anAuthority, type Identity, type Leaf } from "./support/certificates.ts";
import { mount } from "./support/kubelet.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET"], path: "/a", target: "http:app/a", data_class: "docs" }];

interface TlsUpstream {
  readonly url: string;
  readonly server: Server;
  /** Requests that came through, by the serial of the client's certificate. */
  readonly served: (string | undefined)[];
}

async function startedTlsUpstream(identity: Identity, clients?: Authority): Promise<TlsUpstream> {
  const served: (string | undefined)[] = [];
  const requiringClients = clients && { ca: clients.ca, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ ...identity, ...requiringClients }, ({ socket }, response) => {
    served.push((socket as TLSSocket).getPeerCertificate().serialNumber);
    response.end("over TLS");
  });
  server.on("upgrade", (_request, socket) => {
    served.push(undefined);
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, server, served };
}

async function setup(upstream: (folder: string) => object, prepare: (folder: string) => void) {
  let replace = (_upstream: object) => {};
  const running = await startedPep({
    upstreams: [],
    settings: (folder) => ({ SVC_PEP_CONFIG: join(folder, "upstreams.json") }),
    prepare(folder) {
      prepare(folder);
      replace = (given) =>
        writeFileSync(
          join(folder, "upstreams.json"),
          JSON.stringify({ upstreams: [{ name: "app", routes, ...given }] }),
        );
      replace(upstream(folder));
    },
  });
  running.controlPlane.policies.set("http:app/a", {});
  const headers = await running.session();
  const call = async () => {
    const response = await fetch(`${running.url}/app/a`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const upgrade = async () => {
    const lines = [
      "GET /app/a HTTP/1.1",
      `Host: 127.0.0.1:${running.port}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
    ];
    const own = [`Authorization: ${headers.authorization}`, `X-Svc-Session: ${headers["x-svc-session"]}`, "", ""];
    const text = await (await rawConnection(running.port, [...lines, ...own].join("\r\n"))).closed();
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
  };
  return { ...running, call, upgrade, replace };
}

const written = (folder: string, files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, `${name}.new`), text);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
};

describe("an upstream with a wrong certificate receives no byte", () => {
  const elsewhere: Leaf = { names: [{ type: "dns", value: "elsewhere.internal" }] };
  test.each<[string, Leaf, "known" | "unknown"]>([
    ["another host name", elsewhere, "known"],
    ["another address", { names: [{ type: "ip", value: "127.0.0.2" }] }, "known"],
    ["no name at all", { names: [] }, "known"],
    ["an expired certificate", { from: -3, to: -1 }, "known"],
    ["a certificate that is not valid yet", { from: 1, to: 3 }, "known"],
    ["another authority's certificate", {}, "unknown"],
  ])("%s: 502 for requests and WebSockets, and no byte of either", async (_name, leaf, which) => {
    const [known, unknown] = [await anAuthority(), await anAuthority()];
    const upstream = await startedTlsUpstream(await (which === "known" ? known : unknown).issue(leaf));
    const { call, upgrade } = await setup(
      (folder) => ({ url: upstream.url, tls: { ca_file: join(folder, "ca.pem") } }),
      (folder) => written(folder, { "ca.pem": known.ca }),
    );
    expect([await call(), await upgrade()]).toEqual([502, 502]);
    expect(upstream.served).toEqual([]);
  });

  test("an upstream with the right certificate receives the call", async () => {
    const known = await anAuthority();
    const upstream = await startedTlsUpstream(await known.issue());
    const { call, upgrade } = await setup(
      (folder) => ({ url: upstream.url, tls: { ca_file: join(folder, "ca.pem") } }),
      (folder) => written(folder, { "ca.pem": known.ca }),
    );
    expect([await call(), await upgrade()]).toEqual([200, 101]);
  });
});

describe("TLS material that is replaced", () => {
  test("a certificate authority: the old one's certificates are rejected, the new one's accepted", async () => {
    const [first, second] = [await anAuthority(), await anAuthority()];
    const upstream = await startedTlsUpstream(await first.issue());
    const { call, folder } = await setup(
      (folder) => ({ url: upstream.url, tls: { ca_file: join(folder, "ca.pem") } }),
      (folder) => written(folder, { "ca.pem": first.ca }),
    );
    expect(await call()).toBe(200);
    written(folder, { "ca.pem": second.ca });
    await waitUntil("the old authority to be gone", async () => (await call()) === 502);
    upstream.server.setSecureContext(await second.issue());
    expect(await call()).toBe(200);
  });

  const mutual = (folder: string, url: string) => ({
    url,
    tls: { ca_file: join(folder, "ca.pem"), cert_file: join(folder, "tls.crt"), key_file: join(folder, "tls.key") },
  });
  const serials = ({ served }: TlsUpstream) => new Set(served).size;

  test("a client certificate with its key at once, as Kubernetes replaces it", async () => {
    const authority = await anAuthority();
    const upstream = await startedTlsUpstream(await authority.issue(), authority);
    const filesOf = async () => {
      const { cert, key } = await authority.issue();
      return { "ca.pem": authority.ca, "tls.crt": cert, "tls.key": key };
    };
    const [before, after] = [await filesOf(), await filesOf()];
    let replace = (_files: Awaited<ReturnType<typeof filesOf>>) => {};
    const { call, reported } = await setup(
      (folder) => mutual(join(folder, "mounted"), upstream.url),
      (folder) => {
        replace = mount(join(folder, "mounted"), before);
      },
    );
    expect(await call()).toBe(200);
    replace(after);
    await waitUntil("the new certificate", async () => (await call()) === 200 && serials(upstream) === 2);
    expect(reported).toEqual([]);
  });

  test("a client certificate before its key: the previous pair stays, with a warning, until both are replaced", async () => {
    const authority = await anAuthority();
    const upstream = await startedTlsUpstream(await authority.issue(), authority);
    const [before, after] = [await authority.issue(), await authority.issue()];
    const { call, folder, reported } = await setup(
      (folder) => mutual(folder, upstream.url),
      (folder) => written(folder, { "ca.pem": authority.ca, "tls.crt": before.cert, "tls.key": before.key }),
    );
    expect(await call()).toBe(200);
    written(folder, { "tls.crt": after.cert });
    await waitUntil("the fault", () => reported.some((line) => line.includes("key_file must hold")));
    expect(await call()).toBe(200);
    expect(serials(upstream)).toBe(1);
    written(folder, { "tls.key": after.key });
    await waitUntil("the new certificate", async () => (await call()) === 200 && serials(upstream) === 2);
    expect(reported.join("\n")).not.toContain("BEGIN");
  });

  test.each(["ca.pem", "tls.crt", "tls.key"])(
    "%s with invalid content is rejected, and the previous one stays",
    async (name) => {
      const authority = await anAuthority();
      const upstream = await startedTlsUpstream(await authority.issue(), authority);
      const own = await authority.issue();
      const { call, folder, reported } = await setup(
        (folder) => mutual(folder, upstream.url),
        (folder) => written(folder, { "ca.pem": authority.ca, "tls.crt": own.cert, "tls.key": own.key }),
      );
      written(folder, { [name]: "half a secret" });
      await waitUntil("the fault", () => reported.some((line) => line.includes("upstream app: ")));
      expect(await call()).toBe(200);
      expect(reported.join("\n")).not.toContain("half a secret");
    },
  );
});

describe("a secret that is replaced", () => {
  const keyed = (folder: string, url: string, file = "secret") => ({
    url,
    credential: { header: "x-key", value_file: join(folder, file) },
  });

  async function keyedSetup() {
    const upstream = await startedUpstream();
    const running = await setup(
      (folder) => keyed(folder, upstream.url),
      (folder) => written(folder, { secret: "first-secret\n" }),
    );
    const shown = async () => {
      await running.call();
      return upstream.received.at(-1)?.headers["x-key"];
    };
    return { ...running, upstream, shown };
  }

  test("by a rename is sent from then on", async () => {
    const { shown, folder } = await keyedSetup();
    expect(await shown()).toBe("first-secret");
    written(folder, { secret: "second-secret" });
    await waitUntil("the new secret", async () => (await shown()) === "second-secret");
  });

  test("as Kubernetes replaces it is sent from then on", async () => {
    const upstream = await startedUpstream();
    let replace = (_files: { secret: string }) => {};
    const { call } = await setup(
      (folder) => keyed(join(folder, "mounted"), upstream.url),
      (folder) => {
        replace = mount(join(folder, "mounted"), { secret: "first-secret" });
      },
    );
    await call();
    replace({ secret: "second-secret\n" });
    await waitUntil("the new secret", async () => {
      await call();
      return upstream.received.at(-1)?.headers["x-key"] === "second-secret";
    });
    expect(upstream.received[0]?.headers["x-key"]).toBe("first-secret");
  });

  test.each([
    ["nothing", ""],
    ["an empty line", "\n"],
    ["two lines", "third-secret\nX-Other: 1"],
    ["a NUL", "third-secret\u0000"],
    ["what a header cannot hold", "third-secret \u20ac"],
  ])("by %s is rejected: the previous one stays, and the log repeats neither", async (_name, text) => {
    const { shown, folder, reported, logs } = await keyedSetup();
    expect(await shown()).toBe("first-secret");
    written(folder, { secret: text });
    await waitUntil("the fault", () => reported.some((line) => line.includes("value_file must hold one line")));
    expect(await shown()).toBe("first-secret");
    expect(JSON.stringify([reported, logs])).not.toMatch(/(first|third)-secret/);
  });
});

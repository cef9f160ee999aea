import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, expect, test, vi } from "vitest";
import { listen } from "../src/listen.ts";
import { readTls, reloadTls, type TlsFiles } from "../src/tls-files.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));

function writePair(name: string): TlsFiles {
  const files = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) };
  const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1";
  const output = ["-subj", `/CN=${name}`, "-keyout", files.keyFile, "-out", files.certFile];
  execFileSync("openssl", [...options.split(" "), ...output], { stdio: "ignore" });
  return files;
}

const replace = (files: TlsFiles, by: Partial<TlsFiles>) => {
  for (const name of ["certFile", "keyFile"] as const) if (by[name]) cpSync(by[name], files[name]);
};

function servedName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once("error", reject);
  });
}

test("a changed pair is used for new connections; a pair that does not match is rejected, and the previous one stays", async () => {
  const [files, first, second] = [writePair("served"), writePair("first"), writePair("second")];
  const server = createServer(readTls(files));
  const listening = await listen(server, { host: "127.0.0.1", port: 0 });
  const [onLoaded, onRefused] = [vi.fn(), vi.fn()];
  const watching = reloadTls(server, files, { onLoaded, onRefused });
  const calls = { timeout: 20_000, interval: 20 };

  replace(files, first);
  await vi.waitUntil(() => onLoaded.mock.calls.length === 1, calls);
  expect(await servedName(listening.port)).toBe("first");

  replace(files, { certFile: second.certFile });
  await vi.waitUntil(() => onRefused.mock.calls.length === 1, calls);
  expect(await servedName(listening.port)).toBe("first");

  replace(files, { keyFile: second.keyFile });
  await vi.waitUntil(() => onLoaded.mock.calls.length === 2, calls);
  expect(await servedName(listening.port)).toBe("second");
  watching.stop();
  await listening.drain(0);
});

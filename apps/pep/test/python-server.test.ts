import { spawn } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { hostileBodies, hostileContentTypes, plainContentTypes, requires } from "@svc/test-support";
import { bindParams, bindParamsValue } from "@svc/tokens";
import { describe, expect, onTestFinished } from "vitest";
import { startedPep } from "./support/pep.ts";

const { test } = requires("python3");

/** A server of Python's standard library that reads every type it can, and answers with what it acts on. */
const server = `
import json
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl
import gzip

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "gzip" in self.headers.get("content-encoding", ""):
            body = gzip.decompress(body)
        message = Message()
        message["content-type"] = self.headers.get("content-type", "application/json")
        text = body.decode(message.get_content_charset("utf-8"), "replace")
        is_form = "form" in message["content-type"]
        read = dict(parse_qsl(text)) if is_form else json.loads(text)
        answer = json.dumps(read).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass

listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(listening.server_port, flush=True)
listening.serve_forever()
`;

async function pythonServer(): Promise<string> {
  const child = spawn("python3", ["-c", server], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = await once(createInterface(child.stdout), "line");
  return `http://127.0.0.1:${port}`;
}

const target = "http:python/act";
const routes = [{ methods: ["POST"], path: "/act", target, data_class: "docs" }];

const json = "application/json";
const types: readonly (readonly string[])[] = [
  ...hostileContentTypes.map((values) => values.flatMap((value) => ["content-type", value])),
  ["content-type", json, "content_type", "application/x-www-form-urlencoded"],
  ["content-type", json, "content-encoding", "gzip"],
];
const bodies = [...hostileBodies, gzipSync('{"a":1}')];

describe("a server of Python's standard library behind the enforcement point", () => {
  test("acts on the bound parameters alone, whatever a body and its type are", async () => {
    const { port, session, controlPlane } = await startedPep({
      upstreams: [{ name: "python", url: await pythonServer(), routes }],
    });
    controlPlane.policies.set(target, { privileged: true });
    const credentials = await session();
    const bearer = ["authorization", credentials.authorization, "x-svc-session", credentials["x-svc-session"]];
    const acted: string[] = [];
    for (const headers of types) {
      for (const body of bodies) {
        const sent = [
          ...bearer,
          "host",
          `127.0.0.1:${port}`,
          "content-length",
          String(Buffer.byteLength(body)),
          ...headers,
        ];
        const options = { port, host: "127.0.0.1", method: "POST", path: "/python/act", headers: sent };
        const [response] = await once(httpRequest(options).end(body), "response");
        const text: string = (await response.toArray()).join("");
        const call = `${headers.join(" ")} | ${body.toString()}`;
        if (response.statusCode !== 200) {
          expect([response.statusCode, response.headers["x-svc-blocked"]], call).toEqual([422, "unbindable"]);
          continue;
        }
        const minted = JSON.parse(
          controlPlane.asked.findLast(({ path }) => path === "/v1/token/transaction")?.body ?? "",
        );
        expect(bindParamsValue(JSON.parse(text)), call).toEqual(bindParams(JSON.stringify(minted.params)));
        acted.push(call);
      }
    }
    expect(acted).toHaveLength(plainContentTypes.length * 4);
  });
});

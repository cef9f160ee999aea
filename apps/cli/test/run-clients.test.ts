import { readFileSync } from "node:fs";
import { requires } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileIn, type GuardedStack, nodeProgram, startGuardedStack } from "./guarded-run.ts";

let stack: GuardedStack;

beforeAll(async () => {
  stack = await startGuardedStack();
});
afterAll(() => stack.stop());

const urls = ["https://bank.internal/read", "http://ledger.internal/read"] as const;
const answers = /^bank \/read Bearer ey\s+ledger \/read\s*$/;

/** Both calls of a client were decided and answered, and its own trust store holds what it needs. */
async function expectGuarded(command: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await stack.run([], command).ended;
  expect(stdout, stderr).toMatch(answers);
  expect(code).toBe(0);
  expect(stderr).toContain("2 calls guarded: 2 allowed, 0 denied");
}

const undici = import.meta.resolve("undici");

describe("an unchanged client's calls to listed hosts are guarded, HTTPS too", () => {
  test.each([
    ["fetch", "for (const url of URLS) console.log(await (await fetch(url)).text());"],
    [
      "node:https and node:http",
      `for (const url of URLS) {
         const { get } = await import(url.startsWith("https") ? "node:https" : "node:http");
         await new Promise((done, fail) => get(url, async (answer) => {
           console.log(Buffer.concat(await answer.toArray()).toString());
           done();
         }).on("error", fail));
       }`,
    ],
    [
      "undici",
      `const { EnvHttpProxyAgent, request } = await import(${JSON.stringify(undici)});
       for (const url of URLS) {
         console.log(await (await request(url, { dispatcher: new EnvHttpProxyAgent() })).body.text());
       }`,
    ],
  ])("%s of Node", (_name, text) => expectGuarded(nodeProgram(`const URLS = ${JSON.stringify(urls)};\n${text}`)));

  requires("curl").test("curl", () => expectGuarded(["sh", "-c", `curl -sS ${urls[0]}; echo; curl -sS ${urls[1]}`]));

  requires("python3").test("urllib of Python", () =>
    expectGuarded([
      "python3",
      fileIn(
        stack,
        "agent.py",
        `import urllib.request\nfor url in ${JSON.stringify(urls)}:\n    print(urllib.request.urlopen(url).read().decode())\n`,
      ),
    ]),
  );

  requires("java").test("HttpClient and HttpURLConnection of Java", async () => {
    const program = `
      import java.net.*; import java.net.http.*;
      public class Agent {
        public static void main(String[] args) throws Exception {
          var client = HttpClient.newHttpClient();
          var request = HttpRequest.newBuilder(URI.create("${urls[0]}")).build();
          System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
          System.out.print(new String(new URL("${urls[1]}").openStream().readAllBytes()));
        }
      }`;
    await expectGuarded(["java", fileIn(stack, "Agent.java", program)]);
  });
});

describe("a host that no upstream lists", () => {
  const curl = requires("curl");
  const command = () => ["curl", "-sS", "--insecure", "-H", "Authorization: Basic own", `https://${stack.otherHost}/x`];

  curl.test("is refused while enforcing, and named at the end, with what to do", async () => {
    const { code, stdout, stderr } = await stack.run([], command()).ended;
    expect([code, stdout]).toEqual([56, ""]);
    expect(stderr).toContain(`1 call to hosts that no upstream lists`);
    expect(stderr).toContain(`refused  ${stack.otherHost}  1`);
    expect(stderr).toContain("No call of the command was guarded.\nAdd the hosts and routes above");
  });

  curl.test.each([
    ["--other-hosts tunnel", ["--other-hosts", "tunnel"]],
    ["--mode observe", ["--mode", "observe"]],
  ])("is reached with %s, untouched, and named at the end", async (_name, flags) => {
    const { code, stdout, stderr } = await stack.run(flags, command()).ended;
    expect([code, stdout]).toEqual([0, "other /x Basic own"]);
    expect(stderr).toContain(`tunnelled  ${stack.otherHost}  1`);
  });

  curl.test("stays refused in observe mode with --other-hosts refuse", async () => {
    expect(await stack.run(["--mode", "observe", "--other-hosts", "refuse"], command()).ended).toMatchObject({
      code: 56,
    });
  });
});

describe("at its end svc run tells", () => {
  test("what was guarded, denied and unlisted", async () => {
    const calls = ["https://bank.internal/read", "http://ledger.internal/post", "https://bank.internal/other/7"];
    const text = `for (const [at, url] of ${JSON.stringify(calls)}.entries())
      console.log((await fetch(url, { method: at === 1 ? "POST" : "GET" })).status);`;
    const { stdout, stderr } = await stack.run([], nodeProgram(text)).ended;
    expect(stdout.trim().split("\n")).toEqual(["200", "403", "404"]);
    expect(stderr).toMatch(
      /2 calls guarded: 1 allowed, 1 denied; svc explain has the reasons:\n {2}deny TARGET_NOT_DECLARED/,
    );
    expect(stderr).toMatch(/1 call that no route lists.*:\n {2}GET \/other\/:id {2}bank {2}1/);
    expect(stderr).not.toContain("No call of the command");
  });

  requires("curl").test("that a client does not trust the run's authority, and what to do", async () => {
    const { code, stderr } = await stack.run(
      [],
      ["env", "-u", "CURL_CA_BUNDLE", "-u", "SSL_CERT_FILE", "curl", "-sS", urls[0]],
    ).ended;
    expect(code).toBe(60);
    expect(stderr).toMatch(/1 call given up by clients that do not trust.*SSL_CERT_FILE:\n {2}bank\.internal {2}1\n/);
    expect(stderr).toMatch(/No call of the command was guarded\.\n$/);
  });

  test("that nothing was guarded, where a client ignores the variables", async () => {
    const text = "await fetch(process.env.TARGET).catch(() => {})";
    const command = ["env", "-u", "NODE_USE_ENV_PROXY", ...nodeProgram(text)];
    const { code, stderr } = await stack.run([], command, { TARGET: "http://127.0.0.1:9/" }).ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/0 calls guarded[\s\S]*No call of the command was guarded\.\n.*SVC_PEP_URL[\s\S]*--isolate/);
  });
});

describe("an upstream under a loopback name is guarded", () => {
  test.each([
    ["localhost", "127.0.0.1"],
    ["127.0.0.1", "localhost"],
  ])("at %s, and the base address is at %s", async (listed, base) => {
    const port = new URL(JSON.parse(readFileSync(stack.upstreams, "utf8")).upstreams[0].url).port;
    const text = `for (const url of ["http://${listed}:${port}/read", process.env.SVC_PEP_URL + "/ledger/read"])
      console.log(new URL(url).hostname, (await (await fetch(url)).text()).trim());`;
    const { stdout, stderr } = await stack.run(["--upstreams", withHost(`${listed}:${port}`)], nodeProgram(text)).ended;
    expect(stdout, stderr).toBe(`${listed} ledger /read\n${base} ledger /read\n`);
    expect(stderr).toContain("2 calls guarded");
  });

  const withHost = (host: string) => {
    const { upstreams } = JSON.parse(readFileSync(stack.upstreams, "utf8"));
    return fileIn(stack, "loopback.json", JSON.stringify({ upstreams: [{ ...upstreams[0], hosts: [host] }] }));
  };
});

test("the operator's exceptions to a proxy, and further trust, are not lost or widened", async () => {
  const extra = fileIn(stack, "extra.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
  const env = { NO_PROXY: "*", no_proxy: ".internal", NODE_EXTRA_CA_CERTS: extra, JAVA_TOOL_OPTIONS: "-Dx=y" };
  const text = `
    import { readFileSync } from "node:fs";
    const { NO_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, JAVA_TOOL_OPTIONS, SSL_CERT_FILE } = process.env;
    const count = (file) => readFileSync(file, "utf8").split("BEGIN CERTIFICATE").length - 1;
    const counts = [count(NODE_EXTRA_CA_CERTS), count(SSL_CERT_FILE) > 50];
    console.log(JSON.stringify([NO_PROXY, no_proxy, counts, JAVA_TOOL_OPTIONS.startsWith("-Dx=y -Dhttp.proxyHost")]));`;
  const { stdout, stderr } = await stack.run([], nodeProgram(text), env).ended;
  expect(JSON.parse(stdout || stderr)).toEqual(["localhost", "localhost", [2, true], true]);
});

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startIdentityProvider } from "@svc/test-conformance/identity-provider";
import { programOf } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bearers, type ClientStand, startClientStand } from "./src/client/stand.ts";

let stand: ClientStand;
let provider: Awaited<ReturnType<typeof startIdentityProvider>>;
const folder = mkdtempSync(join(tmpdir(), "svc-enroll-"));
const key = join(folder, "planner.jwk");

beforeAll(async () => {
  provider = await startIdentityProvider();
  stand = await startClientStand({ SVC_IDP_ISSUER: provider.issuer, SVC_IDP_AUDIENCE: provider.audience });
});
afterAll(async () => {
  await Promise.all([stand?.stop(), provider?.stop()]);
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const svc = (words: readonly string[], env: Record<string, string> = { SVC_ADMIN_TOKEN: bearers.adminToken }) =>
  new Promise<Ended>((resolve) => {
    const options = { env: { PATH: process.env.PATH, SVC_CONTROL_PLANE_URL: stand.url, ...env } };
    execFile(process.execPath, [programOf("@svc/cli/main"), ...words], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });

/** Writes the ID token of a person who vouches for the key. */
async function vouch(): Promise<string> {
  const { stdout } = await svc(["enroll", "key", key], {});
  const file = join(folder, "id-token");
  writeFileSync(file, await provider.idToken("ada", stdout.trim()));
  return file;
}

describe("svc enroll, with a real OpenID provider", () => {
  test("makes a key that its owner alone can read, once, and prints its thumbprint", async () => {
    const made = await svc(["enroll", "key", key], {});
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)]);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect((await svc(["enroll", "key", key], {})).stdout).toBe(made.stdout);
  });

  test("quarantines without an ID token, which an administrator lifts, and enrolls with one", async () => {
    const refused = await svc(["enroll", "agent", "planner", "--key", key]);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(/quarantined.*NO_PRINCIPAL[\s\S]*--id-token-file[\s\S]*lift-quarantine/);
    expect((await svc(["agents", "identity", "planner"])).stdout).toBe("planner is quarantined\n");
    const lifted = await svc(["agents", "lift-quarantine", "planner", "--reason", "no ID token"]);
    expect(lifted).toMatchObject({ code: 0, stdout: "planner is not enrolled\n" });
    const enrolled = await svc(["enroll", "agent", "planner", "--key", key, "--id-token-file", await vouch()]);
    expect(enrolled).toMatchObject({ code: 0, stdout: "planner is enrolled\n" });
    expect((await svc(["agents", "identity", "planner"])).stdout).toMatch(/^planner is enrolled with key [\w-]{43}\n$/);
  });

  test("needs no bearer with an enroll token, which is good once", async () => {
    const token = join(folder, "enroll-token");
    const issued = await svc(["enroll", "token", "planner"]);
    expect([issued.code, issued.stdout]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)]);
    writeFileSync(token, issued.stdout);
    const words = ["enroll", "agent", "planner", "--key", key, "--enroll-token-file", token, "--json"];
    const enrolled = await svc([...words, "--id-token-file", await vouch()], {});
    expect(enrolled.code).toBe(0);
    expect(JSON.parse(enrolled.stdout)).toMatchObject({ status: "enrolled", anchor_version: 2 });
    const again = await svc([...words, "--id-token-file", await vouch()], {});
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toContain("unauthorized");
  });

  test.each([
    ["a file without a key", ["--key", join(folder, "id-token")], "holds no agent key"],
    ["no such file", ["--key", join(folder, "none")], "svc enroll key makes one"],
  ])("is not tried with %s", async (_name, words, advice) => {
    const { code, stderr } = await svc(["enroll", "agent", "planner", ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(advice);
  });
});

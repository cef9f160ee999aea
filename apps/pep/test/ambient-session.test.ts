import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET"], path: "/read", target: "http:app/read", data_class: "docs" }];

async function setup(credential: unknown = "hop_token") {
  const upstream = await startedUpstream();
  const file = "session.json";
  const running = await startedPep({
    upstreams: [{ name: "app", url: upstream.url, credential, mode: "observe", routes }],
    settings: (folder) => ({ SVC_PEP_SESSION_FILE: join(folder, file) }),
    prepare: async (folder, controlPlane) => {
      const { sessionId, token } = await controlPlane.consent();
      writeFileSync(join(folder, file), JSON.stringify({ session_id: sessionId, token }));
    },
  });
  running.controlPlane.policies.set("http:app/read", {});
  const sessionFile = join(running.folder, file);
  const write = async (text?: string) => {
    const { sessionId, token } = await running.controlPlane.consent();
    writeFileSync(sessionFile, text ?? JSON.stringify({ session_id: sessionId, token }));
    return sessionId;
  };
  const call = (headers: Record<string, string> = {}) => fetch(`${running.url}/app/read`, { headers });
  const lastSession = () => running.controlPlane.decisions().at(-1)?.session_id;
  return { ...running, upstream, sessionFile, write, call, lastSession };
}

/** A JWT of another issuer. */
const foreign = `Bearer ${["{}", '{"iss":"https://idp.example","sub":"app"}', "x"].map((part) => btoa(part).replaceAll("=", "")).join(".")}`;

describe("an agent without a session of its own", () => {
  test("uses the ambient session", async () => {
    const { call, upstream } = await setup();
    expect((await call()).status).toBe(200);
    expect(upstream.received[0]?.headers.authorization).toMatch(/^Bearer ey/);
    expect(upstream.received[0]?.headers["x-svc-session"]).toBeDefined();
  });

  test("keeps its own Authorization for a passthrough upstream, with the narrowed token beside it", async () => {
    const { call, upstream } = await setup("passthrough");
    expect((await call({ authorization: foreign })).status).toBe(200);
    const { authorization, "x-svc-authorization": narrowed } = upstream.received[0]?.headers ?? {};
    expect(authorization).toBe(foreign);
    expect(narrowed).toMatch(/^Bearer ey/);
  });

  test("loses its Authorization where the upstream takes hop tokens, and keeps it where its denied call is only observed", async () => {
    const { call, upstream, controlPlane } = await setup();
    await call({ authorization: foreign });
    controlPlane.policies.set("http:app/read", { denyReason: "TARGET_NOT_DECLARED" });
    await call({ authorization: foreign });
    const seen = upstream.received.map(({ headers }) => headers.authorization);
    expect(seen[0]).not.toBe(foreign);
    expect(seen[1]).toBe(foreign);
  });

  test("a hop token is never passed through, with or without its session", async () => {
    const { call, upstream, session } = await setup("passthrough");
    const { authorization, "x-svc-session": sessionId } = await session();
    expect((await call({ authorization })).status).toBe(200);
    expect((await call({ authorization, "x-svc-session": sessionId })).status).toBe(200);
    expect(upstream.received.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    expect(upstream.received.map(({ headers }) => headers["x-svc-session"])).toEqual([sessionId, sessionId]);
  });

  test("a request's own credentials take precedence over the ambient session", async () => {
    const { call, session, lastSession } = await setup();
    const headers = await session();
    await call(headers);
    expect(lastSession()).toBe(headers["x-svc-session"]);
  });
});

describe("the session file", () => {
  test("is read again on change", async () => {
    const { call, write, lastSession } = await setup();
    const sessionId = await write();
    await waitUntil("the new session to be used", async () => {
      await call();
      return lastSession() === sessionId;
    });
  });

  test("without a session keeps the previous one, with a warning", async () => {
    const { call, write, logs } = await setup();
    await write('{"session_id": "x"');
    await waitUntil("the warning", () => logs.some(({ msg }) => String(msg).startsWith("session file refused")));
    expect((await call()).status).toBe(200);
  });

  test("that is removed ends the session", async () => {
    const { call, sessionFile } = await setup();
    rmSync(sessionFile);
    await waitUntil("calls to be unauthorized", async () => (await call()).status === 401);
  });
});

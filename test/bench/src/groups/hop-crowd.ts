import { generateKeyPairSync, randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import type { Target } from "../measure/load.ts";
import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import { createReferenceSchema } from "../reference/schema.ts";
import type { Bench } from "../rig/bench.ts";
import { cerbosPath, cerbosQuestion, startCerbos } from "../rig/cerbos.ts";
import { startNginx } from "../rig/nginx.ts";
import { startServer } from "../rig/node-server.ts";
import { findProgram } from "../rig/program.ts";
import { throughSkeleton } from "../rig/skeleton.ts";
import { readTool } from "../rig/stack.ts";
import { type HopRig, warmingCalls, warmUp } from "./hop-rig.ts";
import { hopsOf } from "./hop-targets.ts";
import { prepareParts } from "./limits.ts";

export const crowdTrial = "hop at 32";
const connections = 32;

/** Many clients: the hop, the naive reference and its alternatives, beside the parts in their batches. */
export async function hopCrowd(bench: Bench, { skeleton, earlier, ...ours }: HopRig): Promise<void> {
  const hop = await hopsOf(bench, "hop", ours, connections);
  const first = earlier && (await hopsOf(bench, "first release", earlier, connections));
  const bare = loaded({
    name: "skeleton",
    connections,
    seconds: bench.pace.seconds,
    processes: skeleton.processes,
    target: () => throughSkeleton(skeleton),
  });
  const { crowded } = await prepareParts(bench);
  await bench.trial(crowdTrial, [hop, first, bare, await reference(bench), await nginxWithCerbos(bench), ...crowded]);
}

/** More than the reference ever reached. */
const mostPerSecond = 4_000;

async function reference(bench: Bench): Promise<Subject> {
  const { stores, upstream, pace } = bench;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const database = await stores.database();
  const sessionId = randomUUID();
  await createReferenceSchema(database.superuserUrl, { sessionId, tools: [readTool] });
  const controlPlane = bench.use(
    await startServer("reference/control-plane.ts", [], {
      DATABASE_URL: database.superuserUrl,
      REDIS_URL: stores.redis.url,
      ISSUER_JWK: JSON.stringify(privateKey.export({ format: "jwk" })),
    }),
  );
  const pep = bench.use(await startServer("reference/pep.ts", [controlPlane.url, upstream.url]));
  const token = () =>
    new SignJWT({ sub: "bench", sid: sessionId, hop: 2, act: { sub: "bench" }, scope: "bench" })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
      .setAudience("bench-agent-1")
      .setIssuedAt()
      .setExpirationTime("600s")
      .setJti(randomUUID())
      .sign(privateKey);
  const target = async (calls: number): Promise<Target> => {
    const tokens = await Promise.all(Array.from({ length: calls }, token));
    const call = () => {
      const taken = tokens.pop();
      if (taken === undefined) throw new Error("too few prepared tokens");
      return { path: "/read", headers: { authorization: `Bearer ${taken}`, "x-svc-session": sessionId } };
    };
    return { origin: pep.url, call };
  };
  // The last half second of each may use some more.
  await warmUp(bench, await target(warmingCalls(pace) + 2 * mostPerSecond));
  return loaded({
    name: "naive reference",
    connections,
    seconds: pace.seconds,
    processes: {
      "control plane": controlPlane.pid,
      pep: pep.pid,
      PostgreSQL: stores.postgresPid,
      Redis: stores.redisPid,
    },
    target: () => target(Math.ceil(pace.seconds * mostPerSecond)),
  });
}

const rules = 40;

async function nginxWithCerbos(bench: Bench): Promise<Subject | undefined> {
  const nginx = findProgram("nginx");
  if ("why" in nginx) {
    bench.missing("nginx", nginx.why);
    return undefined;
  }
  const cerbos = await startCerbos(rules);
  if (cerbos === undefined) {
    bench.missing("Cerbos", "its server has a package for Linux on x64 alone");
    return undefined;
  }
  bench.use(cerbos);
  const auth = { url: cerbos.url + cerbosPath, body: cerbosQuestion(rules - 1) };
  const proxy = bench.use(await startNginx(nginx.path, bench.upstream.url, auth));
  const target = { origin: proxy.url, call: () => ({ path: "/read" }) };
  await warmUp(bench, target);
  return loaded({
    name: "nginx + Cerbos",
    connections,
    seconds: bench.pace.seconds,
    processes: { nginx: proxy.pid, Cerbos: cerbos.pid },
    target: () => target,
  });
}

import { createApi } from "@svc/test-conformance/api";
import { testBearers, waitUntil } from "@svc/test-support";
import { readiness, type Scenario, type Stand } from "../stand.ts";

/** Operators' daytime work: no call may fail because of it. */
export async function withoutFailure({ load }: Stand, act: () => Promise<void>): Promise<void> {
  const before = load.tally();
  await act();
  await load.passes(20);
  const failed = load.replies
    .slice(before.made)
    .filter(({ status, blocked }) => status !== 200 && blocked !== "policy");
  if (failed.length > 0) {
    const all = JSON.stringify(failed);
    throw new Error(`${failed.length} calls failed (deadlines pass on a busy machine: repeat on an idle one): ${all}`);
  }
}

export const keyRotation: Scenario = {
  name: "issuer keys rotated, to sign at once",
  async inject(stand) {
    const { controlPlanes } = stand.deployment;
    await withoutFailure(stand, async () => {
      for (let times = 0; times < 10; times += 1) {
        const { url } = stand.random.shuffled(controlPlanes)[0] ?? { url: "" };
        const api = createApi(url, testBearers);
        const { status, text } = await api.call("POST", "/v1/keys/rotate", {
          bearer: testBearers.admin,
          body: { now: true },
        });
        if (status >= 300) throw new Error(`the rotation was refused: ${status} ${text}`);
        await stand.load.passes(5);
      }
    });
    return 10;
  },
};

export const rollingRestart: Scenario = {
  name: "control planes restarted one after the other (SIGTERM)",
  async inject(stand) {
    const { controlPlanes, controlPlaneAddress } = stand.deployment;
    await withoutFailure(stand, async () => {
      const ports = controlPlanes.map(({ port }) => port);
      for (const { name, port, url, shutDown, start } of controlPlanes) {
        const down = shutDown();
        // As a load balancer with readiness checks does: it sends no more connections there.
        await waitUntil(`${name} to report that it is draining`, async () => (await readiness(url)) === 503);
        controlPlaneAddress.aim(ports.filter((other) => other !== port));
        await down;
        await start();
        controlPlaneAddress.aim(ports);
        await stand.load.passes(10);
      }
    });
    return controlPlanes.length;
  },
};

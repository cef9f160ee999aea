import { createApi } from "@svc/test-conformance/api";
import { testBearers } from "@svc/test-support";
import { type Scenario, type Stand, urlOf } from "../stand.ts";

/** What operators do in the middle of the day: no call may fail for it. */
async function withoutFailure({ load }: Stand, act: () => Promise<void>): Promise<void> {
  const before = load.tally();
  await act();
  await load.passes(20);
  const after = load.tally();
  const failed = after.refused + after.lost - before.refused - before.lost;
  if (failed > 0) throw new Error(`${failed} calls failed`);
}

export const keyRotation: Scenario = {
  name: "issuer keys rotated, to sign at once",
  async inject(stand) {
    const { controlPlanes } = stand.world;
    await withoutFailure(stand, async () => {
      for (let times = 0; times < 10; times += 1) {
        const { port } = stand.random.shuffled(controlPlanes)[0] ?? { port: 0 };
        const api = createApi(urlOf(port), testBearers);
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
    const { controlPlanes } = stand.world;
    await withoutFailure(stand, async () => {
      for (const controlPlane of controlPlanes) {
        await controlPlane.shutDown();
        await controlPlane.start();
        await stand.load.passes(10);
      }
    });
    return controlPlanes.length;
  },
};

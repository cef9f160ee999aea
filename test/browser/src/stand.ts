import {
  type ControlPlane,
  createMigratedDatabase,
  startControlPlane,
  startRedisIfThere,
  type TestDatabase,
} from "@svc/test-support";
import { signInClient, signInSettings, startOpenIdProvider } from "@svc/test-support/openid-provider";
import { type Api, apiOf, createStory, type Story } from "./story.ts";

export interface Stand {
  readonly plane: ControlPlane;
  readonly database: TestDatabase;
  readonly api: Api;
  readonly story: Story;
  stop(): Promise<void>;
}

/** A real control plane on real stores, after the story. */
export async function startStand(env: Readonly<Record<string, string>> = {}): Promise<Stand> {
  const database = await createMigratedDatabase();
  const redis = await startRedisIfThere();
  const plane = await startControlPlane({ database, redis }, env);
  const api = apiOf(plane);
  const story = await createStory(api);
  return {
    plane,
    database,
    api,
    story,
    async stop() {
      await plane.stop();
      await redis?.stop();
      await database.drop();
    },
  };
}

/** The same, with people who sign in with a real provider, and are administrators where their group is `platform`. */
export async function startStandWithPeople(): Promise<Stand> {
  const provider = await startOpenIdProvider({ clients: [signInClient()] });
  const stand = await startStand({ ...signInSettings(provider), SVC_CONSOLE_ROLES: "platform=admin" });
  return {
    ...stand,
    async stop() {
      await stand.stop();
      await provider.stop();
    },
  };
}

import {
  type ControlPlane,
  createDatabase,
  startControlPlane,
  startRedisIfThere,
  type TestDatabase,
} from "@svc/test-support";
import { type Api, apiOf, type Told, tellStory } from "./story.ts";

export interface Stand {
  readonly plane: ControlPlane;
  readonly database: TestDatabase;
  readonly api: Api;
  readonly told: Told;
  stop(): Promise<void>;
}

/** A real control plane on real stores in which the story has happened. */
export async function startStand(env: Readonly<Record<string, string>> = {}): Promise<Stand> {
  const database = await createDatabase();
  const redis = await startRedisIfThere();
  const plane = await startControlPlane({ database, redis }, env);
  const api = apiOf(plane);
  const told = await tellStory(api);
  return {
    plane,
    database,
    api,
    told,
    async stop() {
      await plane.stop();
      await redis?.stop();
      await database.drop();
    },
  };
}

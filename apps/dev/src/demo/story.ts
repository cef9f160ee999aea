import { calls } from "./calls.ts";
import { declarationsAndConsents } from "./declarations.ts";
import type { Narration } from "./narration.ts";
import { record } from "./record.ts";
import type { Scene, Step } from "./scene.ts";

/** From a manifest to the record. */
export const story: readonly Step[] = [...declarationsAndConsents, ...calls, ...record];

/** Ends at the first step that fails. @returns whether every step succeeded */
export async function runStory(scene: Scene, narrator: Narration): Promise<boolean> {
  for (const [index, step] of story.entries()) {
    const report = narrator.begin(index + 1, story.length, step.title);
    try {
      await step.run(scene, report);
      narrator.end(undefined);
    } catch (cause) {
      narrator.end(cause instanceof Error ? cause : new Error(String(cause)));
      return false;
    }
  }
  return true;
}

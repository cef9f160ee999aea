import { styleText } from "node:util";
import { calls } from "./calls.ts";
import { declarationsAndConsents } from "./declarations.ts";
import { record } from "./record.ts";
import type { Reporter, Scene, Step } from "./scene.ts";

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

/** Prints the story as text, or one JSON line a step. */
export interface Narration {
  begin(number: number, of: number, title: string): Reporter;
  end(failure: Error | undefined): void;
}

const kinds = { asked: "cyan", decided: "green", why: "dim" } as const;
type Kind = keyof typeof kinds;

export function narration(format: "text" | "json", write: (line: string) => void): Narration {
  let step: { readonly number: number; readonly title: string; readonly lines: Record<Kind, string[]> } | undefined;
  return {
    begin(number, of, title) {
      const lines = { asked: [], decided: [], why: [] } as Record<Kind, string[]>;
      step = { number, title, lines };
      if (format === "text") write(`\n${styleText("bold", `[${number}/${of}] ${title}`)}`);
      const add = (kind: Kind) => (text: string) => {
        lines[kind].push(text);
        if (format === "text") write(`  ${styleText(kinds[kind], kind.padEnd(8))} ${text}`);
      };
      return { asked: add("asked"), decided: add("decided"), why: add("why") };
    },
    end(failure) {
      if (step === undefined) return;
      const { number, title, lines } = step;
      if (format === "json") {
        write(JSON.stringify({ step: number, title, ok: failure === undefined, ...lines, failure: failure?.message }));
      } else if (failure) write(`  ${styleText("red", "failed")}   ${failure.message}`);
    },
  };
}

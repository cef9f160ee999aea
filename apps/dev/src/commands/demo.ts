import { styleText } from "node:util";
import { Command } from "commander";
import { calls } from "../demo/calls.ts";
import { declarationsAndConsents } from "../demo/declarations.ts";
import { people } from "../demo/people.ts";
import { record } from "../demo/record.ts";
import { newScene, type Reporter, type Scene, type Step } from "../demo/scene.ts";
import { runStack } from "../stack/stack.ts";

const examples = `
Examples:
  svc demo            every step as text
  svc demo --json     one JSON line a step: {step, title, ok, asked, decided, why}
`;

export const demoCommand = (): Command =>
  new Command("demo")
    .description("Start everything on free ports and run the whole story, step by step; exit 0 if every step succeeds.")
    .option("--json", "one JSON line a step")
    .addHelpText("after", examples)
    .action(runDemo);

async function runDemo({ json = false }: { json?: boolean }): Promise<void> {
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  const onProgress = json ? () => {} : (step: string) => void process.stderr.write(`${step}\n`);
  await runStack({ port: 0, mode: "enforce", withExample: true, onProgress }, async (stack, signal) => {
    const startedMs = performance.now();
    const scene = newScene(stack);
    const telling = runStory(scene, narration(json ? "json" : "text", write)).finally(() => scene.client.close());
    const succeeded = await Promise.race([telling, signal.then(() => false)]);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (!succeeded) process.exitCode = 1;
    else if (!json) write(`\n${styleText("green", `All ${story.length} steps succeeded`)}, in ${seconds} s.`);
  });
}

/** From a manifest to the record. */
export const story: readonly Step[] = [...declarationsAndConsents, ...calls, ...people, ...record];

/** Ends at the first step that fails. @returns whether every step succeeded */
export async function runStory(scene: Scene, narrator: ReturnType<typeof narration>): Promise<boolean> {
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

const kinds = { asked: "cyan", decided: "green", why: "dim" } as const;
type Kind = keyof typeof kinds;

/** Prints the story as text, or one JSON line a step. */
export function narration(format: "text" | "json", write: (line: string) => void) {
  let step: { readonly number: number; readonly title: string; readonly lines: Record<Kind, string[]> } | undefined;
  return {
    begin(number: number, of: number, title: string): Reporter {
      const lines = { asked: [], decided: [], why: [] } as Record<Kind, string[]>;
      step = { number, title, lines };
      if (format === "text") write(`\n${styleText("bold", `[${number}/${of}] ${title}`)}`);
      const add = (kind: Kind) => (text: string) => {
        lines[kind].push(text);
        if (format === "text") write(`  ${styleText(kinds[kind], kind.padEnd(8))} ${text}`);
      };
      return { asked: add("asked"), decided: add("decided"), why: add("why") };
    },
    end(failure: Error | undefined): void {
      if (step === undefined) return;
      const { number, title, lines } = step;
      if (format === "json") {
        write(JSON.stringify({ step: number, title, ok: failure === undefined, ...lines, failure: failure?.message }));
      } else if (failure) write(`  ${styleText("red", "failed")}   ${failure.message}`);
    },
  };
}

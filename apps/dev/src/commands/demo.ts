import { Command } from "commander";
import { colors } from "../colors.ts";
import { newScene } from "../demo/scene.ts";
import { story } from "../demo/story.ts";
import { type Narration, narration } from "../demo/teller.ts";
import { type Stack, startStack } from "../dev/stack.ts";
import { progress } from "../progress.ts";
import { untilSignal } from "../signals.ts";

const examples = `
Examples:
  svc demo            tell the whole story on a terminal
  svc demo --json     one JSON line a step: {step, title, ok, asked, decided, why}
`;

export const demoCommand = (): Command =>
  new Command("demo")
    .description(
      "Start everything on free ports and tell the whole story, step by step; exit 0 if it came out as told.",
    )
    .option("--json", "one JSON line a step")
    .addHelpText("after", examples)
    .action(runDemo);

async function runDemo({ json = false }: { json?: boolean }): Promise<void> {
  const signal = untilSignal();
  const steps = progress(json ? "silent" : "shown");
  const starting = startStack({ port: 0, mode: "enforce", onProgress: steps.show }, process.env);
  const stack = await Promise.race([starting, signal.then(() => undefined)]);
  if (stack === undefined) return void (await starting.then((late) => late.stop()).catch(() => {}));
  steps.done();
  const startedMs = performance.now();
  try {
    const narrator = narration(json ? "json" : "text", (line) => void process.stdout.write(`${line}\n`));
    const told = await Promise.race([tellStory(stack, narrator), stack.broken, signal.then(() => false)]);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (!told) process.exitCode = 1;
    else if (!json)
      process.stdout.write(`\n${colors.green(`All ${story.length} steps came out as told`)}, in ${seconds} s.\n`);
  } finally {
    await stack.stop();
  }
}

/** Stops at the first step that came out otherwise. */
async function tellStory(stack: Stack, narrator: Narration): Promise<boolean> {
  const scene = newScene(stack);
  for (const [index, step] of story.entries()) {
    const tell = narrator.begin(index + 1, story.length, step.title);
    try {
      await step.run(scene, tell);
      narrator.end(undefined);
    } catch (cause) {
      narrator.end(cause instanceof Error ? cause : new Error(String(cause)));
      return false;
    }
  }
  return true;
}

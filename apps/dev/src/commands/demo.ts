import { styleText } from "node:util";
import { Command } from "commander";
import { newScene } from "../demo/scene.ts";
import { narration, runStory, story } from "../demo/story.ts";
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
  await runStack({ port: 0, mode: "enforce", onProgress }, async (stack, signal) => {
    const startedMs = performance.now();
    const scene = newScene(stack);
    const telling = runStory(scene, narration(json ? "json" : "text", write)).finally(() => scene.client.close());
    const succeeded = await Promise.race([telling, signal.then(() => false)]);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (!succeeded) process.exitCode = 1;
    else if (!json) write(`\n${styleText("green", `All ${story.length} steps succeeded`)}, in ${seconds} s.`);
  });
}

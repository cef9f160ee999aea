import { type OutputChunk, type OutputOptions, rolldown } from "rolldown";

/** One bundle of a program under a runtime's conditions; Node's own modules stay imports. */
export async function bundle(
  input: string,
  conditions: readonly string[],
  options: OutputOptions,
): Promise<OutputChunk> {
  const bundling = await rolldown({
    input,
    platform: "neutral",
    resolve: { conditionNames: [...conditions, "import", "default"], mainFields: ["module", "main"] },
    external: /^node:/,
    logLevel: "silent",
  });
  const { output } = await bundling.generate(options);
  await bundling.close();
  return output[0];
}

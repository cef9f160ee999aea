import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import type { Bench } from "../rig/bench.ts";
import { footprintTrial } from "./footprint.ts";

/** The size that the verifier adds to a resource server's bundle: with its imports, minified, for Node, compressed. */
export async function bundleSize(bench: Bench): Promise<void> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("../../../../packages/verifier/src/index.ts", import.meta.url)),
    platform: "node",
    resolve: { conditionNames: ["@svc/source", "node", "import", "default"] },
    logLevel: "silent",
  });
  try {
    const { output } = await bundle.generate({ format: "esm", minify: true });
    const code = output.map((one) => (one.type === "chunk" ? one.code : "")).join("");
    bench.note(footprintTrial, "verifier, minified", "KiB", Buffer.byteLength(code) / 1024);
    bench.note(footprintTrial, "verifier, minified and compressed", "KiB", gzipSync(code).length / 1024);
  } finally {
    await bundle.close();
  }
}

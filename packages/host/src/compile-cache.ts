// By its default export: a Node without the function must load this file, so that `require-node` can refuse it.
import module from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Keeps compiled code for later starts in `.compile-cache` beside the main file of a built program, where that folder can
 * be written. Not in Node's own folder below the temporary files: its content is executed, and every local account could
 * write there. NODE_DISABLE_COMPILE_CACHE=1 and NODE_COMPILE_CACHE are Node's. Only modules imported later are kept.
 * @param main `import.meta.url` of the main file
 */
export function keepCompiled(main: string): void {
  if (main.endsWith(".js")) module.enableCompileCache(fileURLToPath(new URL(".compile-cache", main)));
}

// By its default export: a Node without the function shall load this file, and be told by the program that it is too old.
import module from "node:module";
import { fileURLToPath } from "node:url";

/**
 * A later start of a built program reads what an earlier one compiled, where the folder `.compile-cache` beside its main
 * file can be written; elsewhere nothing is kept and nothing said. What lies there is run unseen, so it is not Node's own
 * folder, which is below the one for everybody's temporary files: here only those write who can write the program as well.
 * A program that runs from its sources keeps nothing. NODE_DISABLE_COMPILE_CACHE=1 declines, NODE_COMPILE_CACHE names
 * another folder (both Node's). Only modules that are imported after this call are kept.
 * @param main `import.meta.url` of the main file
 */
export function keepCompiled(main: string): void {
  if (main.endsWith(".js")) module.enableCompileCache(fileURLToPath(new URL(".compile-cache", main)));
}

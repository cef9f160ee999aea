import module from "node:module";

/** Test processes find the run's folder for compiled code by it. */
export const compiledVariable = "TEST_COMPILED";

/** In the environment of an app: it reads and keeps what Node compiles, which is a third of the work of its start. */
export const keepsCompiled = (): Record<string, string> => {
  const folder = process.env[compiledVariable];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
};

/** Node writes at a program's end, and tests end many by SIGKILL. */
export const writeCompiledSoon = (): void => void setTimeout(module.flushCompileCache, 1_000).unref();

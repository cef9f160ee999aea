import { enableCompileCache } from "node:module";

/** The second start reads what the first compiled, from the folder that Node keeps for it. NODE_DISABLE_COMPILE_CACHE=1 declines. */
enableCompileCache();

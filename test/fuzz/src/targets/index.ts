import type { Target } from "../target.ts";
import { answers } from "./answers.ts";
import { calls } from "./calls.ts";
import { messages } from "./messages.ts";
import { raw } from "./raw.ts";

export const targets: readonly Target[] = [raw, calls, messages, answers];

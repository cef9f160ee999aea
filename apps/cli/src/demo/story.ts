import type { Scene } from "./scene.ts";
import { chainStep } from "./steps/chain.ts";
import { consentStep } from "./steps/consent.ts";
import { delegateStep } from "./steps/delegate.ts";
import { deniedStep } from "./steps/denied.ts";
import { mcpStep } from "./steps/mcp-call.ts";
import { observeStep } from "./steps/observe.ts";
import { overreachStep } from "./steps/overreach.ts";
import { privilegedStep } from "./steps/privileged.ts";
import { readStep } from "./steps/read.ts";
import { registerStep } from "./steps/register.ts";
import { replayStep } from "./steps/replay.ts";
import { taintStep } from "./steps/taint.ts";
import type { Step } from "./teller.ts";

/** From a manifest to the record of what was done with it, in the order in which one meets it. */
export const story: readonly Step<Scene>[] = [
  registerStep,
  overreachStep,
  consentStep,
  delegateStep,
  mcpStep,
  readStep,
  privilegedStep,
  deniedStep,
  taintStep,
  replayStep,
  observeStep,
  chainStep,
];

import { banking } from "./banking.ts";
import { slack } from "./slack.ts";
import { travel } from "./travel.ts";
import { workspace } from "./workspace.ts";

export const suites = [banking, slack, travel, workspace] as const;

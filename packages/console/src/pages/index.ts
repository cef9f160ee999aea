import type { Page } from "../view.ts";
import { actionPage } from "./action.ts";
import { agentPage, agentsPage } from "./agents.ts";
import { decisionsPage } from "./decisions.ts";
import { denialsPage } from "./denials.ts";
import { overviewPage } from "./overview.ts";
import { scopePage, scopesPage } from "./scopes.ts";
import { sessionPage, sessionsPage } from "./sessions.ts";
import { wouldBlockPage } from "./would-block.ts";

export const pages: readonly Page[] = [
  overviewPage,
  decisionsPage,
  actionPage,
  wouldBlockPage,
  scopesPage,
  scopePage,
  agentsPage,
  agentPage,
  sessionsPage,
  sessionPage,
  denialsPage,
];

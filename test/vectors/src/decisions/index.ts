import type { DecisionVector } from "../vector.ts";
import { blockVectors } from "./blocks.ts";
import { dataClassVectors, narrowingVectors } from "./data-classes.ts";
import { identityVectors } from "./identity.ts";
import { lenderVectors } from "./lenders.ts";
import { mcpProtocolVectors } from "./mcp.ts";
import { faultPairVectors, singleFaultVectors } from "./order.ts";
import { budgetVectors, chainVectors, longestChainVectors } from "./paths.ts";
import { sessionVectors } from "./session.ts";
import { taintVectors } from "./taint.ts";
import { noOtherScopeVectors, otherScopeClassVectors, targetVectors } from "./targets.ts";

/** Every decision table by the check that it covers (docs/reference/decision.md#the-ten-checks). */
export const decisionTables: Readonly<Record<string, readonly DecisionVector[]>> = {
  session: sessionVectors,
  identity: identityVectors,
  blocks: blockVectors,
  lenders: lenderVectors,
  chains: chainVectors,
  "hop budgets": [...budgetVectors, ...longestChainVectors],
  targets: [...targetVectors, ...noOtherScopeVectors],
  "data classes": [...dataClassVectors, ...otherScopeClassVectors],
  narrowing: narrowingVectors,
  "MCP protocol": mcpProtocolVectors,
  taint: taintVectors,
  "single faults": singleFaultVectors,
  "order of checks": faultPairVectors,
};

export const decisionVectors: readonly DecisionVector[] = Object.values(decisionTables).flat();

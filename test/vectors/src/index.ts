export { decisionTables, decisionVectors } from "./decisions/index.ts";
export type { Manifests } from "./manifest.ts";
export { type Question, toQuestion } from "./question.ts";
export type { DecisionVector, PresentFacts, Wanted } from "./vector.ts";

export { type AllowVector, allowVectors } from "./allows.ts";
export { type ChainVector, chainWalkVectors } from "./chains.ts";
export { decisionTables, decisionVectors } from "./decisions/index.ts";
export { type EffectVector, effectVectors } from "./effects.ts";
export type { Manifests } from "./manifest.ts";
export { type MarkVector, markVectors } from "./marks.ts";
export { type Question, toQuestion } from "./question.ts";
export type { DecisionVector, PresentFacts, Wanted } from "./vector.ts";
export { type ViewVector, viewVectors } from "./views.ts";

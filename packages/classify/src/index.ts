export { classifier, UnclassifiedCall } from "./classifier.ts";
export { type CompiledRules, classify, compileRules } from "./classify.ts";
export { folded } from "./folded.ts";
export type { CallArguments } from "./pointer.ts";
export { type Classification, classification, type Rule, ruleList } from "./rules.ts";
export { decoded, isBlank, isUnambiguousPath, segmentsOf } from "./sound-path.ts";

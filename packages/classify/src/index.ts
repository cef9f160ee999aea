export { classifier, UnclassifiedCall } from "./classifier.ts";
export { type CompiledRules, classify, compileRules } from "./classify.ts";
export { folded } from "./folded.ts";
export { lintRules, type RuleFinding } from "./lint.ts";
export { type CallArguments, isJsonPointer } from "./pointer.ts";
export { type Classification, classification, type Rule, ruleList } from "./rules.ts";
export { decoded, isBlank, isUnambiguousPath, segmentsOf } from "./sound-path.ts";

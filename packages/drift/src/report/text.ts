import type { DriftReport } from "../drift-report.ts";
import { placeWords, summaryWords, undeclaredWords, unexercisedWords } from "./words.ts";

/** For a terminal: what is wrong first, the verdict last. */
export const textReport = (report: DriftReport): string =>
  [
    ...report.errors.map((error) => `error: ${placeWords(error)}${error.message}`),
    ...report.undeclared.map((edge) => `undeclared: ${undeclaredWords(edge)}`),
    ...report.warnings.map((edge) => `warning: ${unexercisedWords(edge)}`),
    summaryWords(report),
    "",
  ].join("\n");

import type { SerializedError } from "vitest";
import { DefaultReporter, type TestModule, type TestRunEndReason, type TestSpecification } from "vitest/node";
import { howToGet, missingPartsOf, type PartName } from "./machine/parts.ts";

interface Progress {
  readonly files: number;
  ended: number;
  failed: number;
}

/** Between two lines of progress while no project ends. */
const quietMs = 5_000;

/**
 * Prints progress, each failed test at once by name, all failures in full at the end, and then the numbers of passed,
 * failed and skipped tests, the reasons, and the duration.
 */
export class ProgressReporter extends DefaultReporter {
  readonly #startedMs = performance.now();
  readonly #projects = new Map<string, Progress>();
  #printedMs = 0;

  constructor() {
    super({ summary: false });
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    for (const [name, files] of Map.groupBy(specifications, ({ project }) => project.name)) {
      this.#projects.set(name, { files: files.length, ended: 0, failed: 0 });
    }
  }

  override onTestModuleEnd(module: TestModule): void {
    const progress = this.#projects.get(module.project.name);
    if (progress === undefined) return;
    progress.ended += 1;
    const file = `FAILED ${module.project.name} ${module.relativeModuleId}`;
    for (const test of module.children.allTests("failed")) {
      progress.failed += 1;
      this.log(`${file} > ${test.fullName}: ${firstLineOf(test.result().errors)}`);
    }
    if (module.errors().length > 0) {
      progress.failed += 1;
      this.log(`${file} ran no test: ${firstLineOf(module.errors())}`);
    }
    const isDue = progress.ended === progress.files || performance.now() - this.#printedMs > quietMs;
    if (isDue) this.#print(module.project.name, progress);
  }

  #print(name: string, { ended, files, failed }: Progress): void {
    this.#printedMs = performance.now();
    const all = [...this.#projects.values()];
    const share = sumOf(all.map((project) => project.ended)) / sumOf(all.map((project) => project.files));
    const percent = String(Math.floor(share * 100)).padStart(3);
    const failures = failed === 0 ? "" : `, ${failed} failed`;
    this.log(`[${percent}%] ${name} ${ended}/${files} files${failures}, ${this.#elapsed()}`);
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    // A file that could not be read or set up counts as one failure, and so does an error outside of any test.
    const failed = count("failed") + modules.filter((module) => module.errors().length > 0).length + errors.length;
    const totals = `${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped in ${this.#elapsed()}`;
    const skipped = tests.filter((test) => test.result().state === "skipped").map(({ fullName }) => fullName);
    const reasons = skipped.length === 0 ? [] : [`Skipped: ${reasonsOf(skipped)}`];
    // Last, after other reporters.
    this.ctx.onClose(() => this.log([totals, ...reasons].join("\n")));
  }

  #elapsed(): string {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1_000);
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, "0")}s`;
  }
}

/** `12 tests without promtool (apt-get install prometheus), 3 for the reason in their name`. */
function reasonsOf(skipped: readonly string[]): string {
  const byParts = Map.groupBy(skipped, (name) => missingPartsOf(name).join(" and "));
  const reasons = [...byParts].map(([parts, { length }]) => {
    if (parts === "") return `${length} for the reason in their name`;
    return `${length} without ${parts} (${howToGet(parts.split(" and ") as PartName[])})`;
  });
  return reasons.join(", ");
}

const firstLineOf = (errors: readonly SerializedError[] | undefined) => errors?.[0]?.message?.split("\n")[0] ?? "";

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locate } from "@svc/test-support";

/** A wall clock for processes, which can be stepped while they run; their timers are unaffected. */
export interface FakedTime {
  /** Environment of a process with this clock. */
  readonly env: Readonly<Record<string, string>>;
  step(seconds: number): void;
}

/** @throws where libfaketime is missing and cannot be installed */
export function fakedTime(): FakedTime {
  const file = join(mkdtempSync(join(tmpdir(), "svc-faults-clock-")), "clock");
  const step = (seconds: number) => writeFileSync(file, `${seconds < 0 ? "" : "+"}${seconds}\n`);
  step(0);
  return {
    env: {
      LD_PRELOAD: locate("libfaketime"),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    step,
  };
}

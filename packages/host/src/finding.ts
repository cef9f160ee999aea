/** One result of a check, as `svc check --json` prints it. */
export interface Finding {
  readonly level: "good" | "note" | "bad";
  /** Names settings, roles and tables, never a value. */
  readonly what: string;
  /** Null where nothing is to be done. */
  readonly remedy: string | null;
}

export const good = (what: string): Finding => ({ level: "good", what, remedy: null });
export const note = (what: string, remedy: string): Finding => ({ level: "note", what, remedy });
export const bad = (what: string, remedy: string): Finding => ({ level: "bad", what, remedy });

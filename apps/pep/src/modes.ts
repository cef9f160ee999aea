export const pepModes = ["enforce", "observe"] as const;
export type PepMode = (typeof pepModes)[number];

/** What observe mode does with a call that got no decision. */
export const undecidedModes = ["block", "forward"] as const;
export type UndecidedMode = (typeof undecidedModes)[number];

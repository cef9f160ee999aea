export const pepModes = ["enforce", "observe"] as const;
export type PepMode = (typeof pepModes)[number];

/** What observe mode does with a call that it could not decide. */
export const observeChoices = ["block", "forward"] as const;
export type ObserveChoice = (typeof observeChoices)[number];

/** What the enforcement point of one machine does with calls to hosts that no upstream lists. */
export const otherHostsChoices = ["refuse", "tunnel"] as const;

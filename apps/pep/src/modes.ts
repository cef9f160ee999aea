export const pepModes = ["enforce", "observe"] as const;
export type PepMode = (typeof pepModes)[number];

/** What observe mode does with a call that it could not decide. */
export const observeChoices = ["block", "forward"] as const;
export type ObserveChoice = (typeof observeChoices)[number];

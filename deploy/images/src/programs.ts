/** The images; each name is also the app's folder and the Dockerfile's target. */
export const programs = ["control-plane", "pep", "injector", "cli", "examples"] as const;
export type Program = (typeof programs)[number];

export const isProgram = (name: string): name is Program => (programs as readonly string[]).includes(name);

/** What there is an image of: the name of the app's folder, of its image, and of the Dockerfile's target. */
export const programs = ["control-plane", "pep", "injector", "cli", "examples"] as const;
export type Program = (typeof programs)[number];

export const isProgram = (name: string): name is Program => (programs as readonly string[]).includes(name);

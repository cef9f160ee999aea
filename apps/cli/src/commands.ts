import type { Command } from "commander";

export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** Absent for the commands of @svc/dev. */
  readonly load?: () => Promise<Command>;
}

/** Every command, in the order of a first use. */
export const commands: readonly CommandEntry[] = [
  {
    name: "demo",
    description: "Start everything on free ports and run the whole story, step by step.",
  },
  {
    name: "dev",
    description: "Start control plane, enforcement point and two example services on this machine.",
  },
  {
    name: "check",
    description: "Check that a deployment is healthy and safely configured.",
    load: async () => (await import("./commands/check.ts")).checkCommand(),
  },
  {
    name: "manifest",
    description: "Lint, submit, show and compare manifests.",
    load: async () => (await import("./commands/manifest.ts")).manifestCommand(),
  },
  {
    name: "consent",
    description: "Record a person's consent to a scope and start a session.",
    load: async () => (await import("./commands/consent.ts")).consentCommand(),
  },
  {
    name: "run",
    description: "Run a command behind a local enforcement point, and list the denied calls.",
    load: async () => (await import("./commands/run.ts")).runCommand(),
  },
  {
    name: "decisions",
    description: "List and follow decisions.",
    load: async () => (await import("./commands/decisions.ts")).decisionsCommand(),
  },
  {
    name: "explain",
    description: "Explain why a call was allowed or denied, with its chain back to the person.",
    load: async () => (await import("./commands/explain.ts")).explainCommand(),
  },
  {
    name: "would-block",
    description: "List the calls that enforcement would block, and the manifests that would admit them.",
    load: async () => (await import("./commands/would-block.ts")).wouldBlockCommand(),
  },
  {
    name: "sessions",
    description: "List, show and revoke sessions.",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand(),
  },
  {
    name: "agents",
    description: "List agents, and revoke one permanently.",
    load: async () => (await import("./commands/agents.ts")).agentsCommand(),
  },
  {
    name: "block",
    description: "Set, list and lift emergency blocks.",
    load: async () => (await import("./commands/block.ts")).blockCommand(),
  },
  {
    name: "keys",
    description: "List and rotate the issuer's signing keys.",
    load: async () => (await import("./commands/keys.ts")).keysCommand(),
  },
  {
    name: "audit",
    description: "Export the record, and verify that it is unchanged.",
    load: async () => (await import("./commands/audit.ts")).auditCommand(),
  },
  {
    name: "drift",
    description: "Compare the calls of tests with the declared manifests.",
    load: async () => (await import("./commands/drift.ts")).driftCommand(),
  },
  {
    name: "completion",
    description: "Completion for bash, zsh and fish.",
    load: async () => (await import("./commands/completion.ts")).completionCommand(),
  },
];

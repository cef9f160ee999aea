import type { Command } from "commander";

export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order in which one gets to know them. */
export const commands: readonly CommandEntry[] = [
  {
    name: "demo",
    description: "Start everything on free ports and tell the whole story, step by step.",
    load: async () => (await import("./commands/demo.ts")).demoCommand(),
  },
  {
    name: "dev",
    description: "Start control plane, enforcement point and two example services on this machine.",
    load: async () => (await import("./commands/dev.ts")).devCommand(),
  },
  {
    name: "check",
    description: "Is this deployment healthy and safely configured?",
    load: async () => (await import("./commands/check.ts")).checkCommand(),
  },
  {
    name: "manifest",
    description: "Lint, submit, show and compare what agents declare.",
    load: async () => (await import("./commands/manifest.ts")).manifestCommand(),
  },
  {
    name: "consent",
    description: "Let a person's agents act within a scope for a while.",
    load: async () => (await import("./commands/consent.ts")).consentCommand(),
  },
  {
    name: "run",
    description: "Run a command behind a local enforcement point, and tell what was blocked.",
    load: async () => (await import("./commands/run.ts")).runCommand(),
  },
  {
    name: "decisions",
    description: "List and follow what was decided.",
    load: async () => (await import("./commands/decisions.ts")).decisionsCommand(),
  },
  {
    name: "explain",
    description: "Why a call was allowed or denied, and its chain back to the human.",
    load: async () => (await import("./commands/explain.ts")).explainCommand(),
  },
  {
    name: "would-block",
    description: "What observe mode let pass and enforcement would not, and the manifests that would admit it.",
    load: async () => (await import("./commands/would-block.ts")).wouldBlockCommand(),
  },
  {
    name: "sessions",
    description: "List, show and end sessions.",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand(),
  },
  {
    name: "agents",
    description: "List agents, and revoke one for good.",
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
    description: "Export the record, and find out whether anybody changed it.",
    load: async () => (await import("./commands/audit.ts")).auditCommand(),
  },
  {
    name: "drift",
    description: "Does what tests exercise match what manifests declare?",
    load: async () => (await import("./commands/drift.ts")).driftCommand(),
  },
  {
    name: "completion",
    description: "Completion for bash, zsh and fish.",
    load: async () => (await import("./commands/completion.ts")).completionCommand(),
  },
];

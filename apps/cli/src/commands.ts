import type { Command } from "commander";

type Load = () => Promise<{ readonly command: () => Command }>;

/** @param load absent for the commands of @svc/dev */
const entry = (name: string, description: string, load?: Load) => ({ name, description, load });

/** Every command, in the order of a first use. */
export const commands = [
  entry("demo", "Start everything on free ports and run the whole story, step by step."),
  entry("dev", "Start control plane, enforcement point and two example services on this machine."),
  entry("login", "Keep a control plane's address and bearer for later commands.", () => import("./commands/login.ts")),
  entry("context", "List and choose the control planes of svc login.", () => import("./commands/context.ts")),
  entry(
    "init",
    "Write the enforcement point's file and a manifest for what an agent calls.",
    () => import("./commands/init.ts"),
  ),
  entry("check", "Check that a deployment is healthy and safely configured.", () => import("./commands/check.ts")),
  entry("manifest", "Lint, submit, show and compare manifests.", () => import("./commands/manifest.ts")),
  entry("consent", "Record a person's consent to a scope and start a session.", () => import("./commands/consent.ts")),
  entry(
    "approve",
    "Show the link on which a person admits a denied call, and wait for the answer.",
    () => import("./commands/approve.ts"),
  ),
  entry(
    "run",
    "Run a command behind a local enforcement point, and list the denied calls.",
    () => import("./commands/run.ts"),
  ),
  entry(
    "mcp",
    "Run an MCP server over stdio behind a local enforcement point, for a desktop client.",
    () => import("./commands/mcp.ts"),
  ),
  entry("decisions", "List and follow decisions.", () => import("./commands/decisions.ts")),
  entry(
    "explain",
    "Explain why a call was allowed or denied, with its chain back to the person.",
    () => import("./commands/explain.ts"),
  ),
  entry(
    "would-block",
    "List the calls that enforcement would block, and the manifests that would admit them.",
    () => import("./commands/would-block.ts"),
  ),
  entry(
    "replay",
    "Decide recorded decisions again under a candidate manifest, and list what would change.",
    () => import("./commands/replay.ts"),
  ),
  entry("upstreams", "Suggest routes for the calls that no route lists.", () => import("./commands/upstreams.ts")),
  entry("top", "Show the calls of the last minute by target and outcome, live.", () => import("./commands/top.ts")),
  entry("events", "List what people and the service did beside the decisions.", () => import("./commands/events.ts")),
  entry(
    "can-i",
    "Show whether an agent may make a call now, and what would admit it.",
    () => import("./commands/can-i.ts"),
  ),
  entry("scopes", "List scopes, and show what a consent grants.", () => import("./commands/scopes.ts")),
  entry("sessions", "List, show and revoke sessions.", () => import("./commands/sessions.ts")),
  entry("sign-ins", "List and end people's sign-ins.", () => import("./commands/sign-ins.ts")),
  entry("enroll", "Bind an agent's key to the person responsible for it.", () => import("./commands/enroll.ts")),
  entry("agents", "List agents, revoke one permanently, and lift quarantines.", () => import("./commands/agents.ts")),
  entry("block", "Set, list and lift emergency blocks.", () => import("./commands/block.ts")),
  entry("keys", "List and rotate the issuer's signing keys.", () => import("./commands/keys.ts")),
  entry("audit", "Export the record, and verify that it is unchanged.", () => import("./commands/audit.ts")),
  entry("sink", "Show how far the record is delivered, and deliver it again.", () => import("./commands/sink.ts")),
  entry("drift", "Compare the calls of tests with the declared manifests.", () => import("./commands/drift.ts")),
  entry("completion", "Completion for bash, zsh and fish.", () => import("./commands/completion.ts")),
];

import type { DenyReason, IdentityStatus } from "@svc/core";
import { acrossScopes, agent, tool } from "../manifest.ts";
import { allow, type DecisionVector, deny, table } from "../vector.ts";

const manifests = {
  planner: agent("expenses", 4, { tools: [tool("http:ledger/read", "finance")], downstream_agents: ["clerk"] }),
  clerk: acrossScopes(
    agent("expenses", 4, { tools: [tool("http:ledger/post", "finance")], downstream_agents: ["auditor"] }),
    agent("travel", 4, { downstream_agents: ["courier"] }),
  ),
  auditor: agent("expenses", 4, { tools: [tool("http:ledger/audit", "finance")] }),
  lawyer: agent("expenses", 4, { tools: [tool("http:law/read", "law")] }),
  courier: agent("travel", 4, { tools: [tool("http:post/send", "finance")] }),
};

const base = { manifests, scope: "expenses", targetKind: "tool", dataClass: "finance" } as const;
const byHuman = { ...base, chain: [], target: "http:ledger/read" };
const byClerk = { ...base, chain: ["planner", "clerk"], target: "http:ledger/post" };
const toAuditor = { ...byClerk, target: "auditor", targetKind: "agent" } as const;

/** Checks 2 and 3 cover the same agents: every row holds for a revoked one and for a quarantined one. */
const shutOut = (status: IdentityStatus, reason: DenyReason): readonly DecisionVector[] => [
  ...table(byClerk, [
    { name: `the caller is ${status}`, present: { identities: { clerk: status } }, want: deny(reason) },
    {
      name: `an agent before the caller is ${status}`,
      present: { identities: { planner: status } },
      want: deny(reason),
    },
    {
      name: `a ${status} agent outside the chain matters to no one`,
      present: { identities: { auditor: status, lawyer: status } },
      want: allow,
    },
  ]),
  ...table(toAuditor, [
    { name: `the target agent is ${status}`, present: { identities: { auditor: status } }, want: deny(reason) },
    {
      name: `a decision does not reveal that an undeclared agent is ${status}`,
      target: "lawyer",
      present: { identities: { lawyer: status } },
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: `a decision does not reveal that an agent of another scope is ${status}`,
      target: "courier",
      present: { identities: { courier: status } },
      want: deny("SCOPE_NOT_CONSENTED"),
    },
    {
      name: `a decision on a tool with the name of an agent does not reveal that the agent is ${status}`,
      targetKind: "tool",
      present: { identities: { auditor: status } },
      want: deny("TARGET_NOT_DECLARED"),
    },
  ]),
  ...table(byHuman, [
    {
      name: `the person delegates to a ${status} entry agent`,
      target: "planner",
      targetKind: "agent",
      present: { identities: { planner: status } },
      want: deny(reason),
    },
    {
      name: `the person asks for a ${status} agent that is no entry`,
      target: "clerk",
      targetKind: "agent",
      present: { identities: { clerk: status } },
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: `a ${status} agent further down does not keep the person from its entry agent`,
      target: "planner",
      targetKind: "agent",
      present: { identities: { clerk: status } },
      want: allow,
    },
  ]),
];

export const identityVectors = [
  ...shutOut("revoked", "AGENT_REVOKED"),
  ...shutOut("quarantined", "AGENT_QUARANTINED"),
  ...table(byClerk, [
    { name: "enrolled agents pass", present: { identities: { planner: "enrolled", clerk: "enrolled" } }, want: allow },
    {
      name: "a revoked agent is the reason before a quarantined one, at any position",
      present: { identities: { planner: "quarantined", clerk: "revoked" } },
      want: deny("AGENT_REVOKED"),
    },
    {
      name: "identity required: an unknown caller is refused",
      present: { identityRequired: true },
      want: deny("IDENTITY_REQUIRED"),
    },
    {
      name: "identity required: a caller that reads as none is refused",
      present: { identityRequired: true, identities: { clerk: "none" } },
      want: deny("IDENTITY_REQUIRED"),
    },
    {
      name: "identity required: an enrolled ancestor does not replace the caller's enrollment",
      present: { identityRequired: true, identities: { planner: "enrolled" } },
      want: deny("IDENTITY_REQUIRED"),
    },
    {
      name: "identity required: an enrolled caller passes, with any agents before it",
      present: { identityRequired: true, identities: { clerk: "enrolled" } },
      want: allow,
    },
    {
      name: "identity required: a quarantined caller has the quarantine as reason",
      present: { identityRequired: true, identities: { clerk: "quarantined" } },
      want: deny("AGENT_QUARANTINED"),
    },
  ]),
  ...table(toAuditor, [
    {
      name: "identity required: the target needs none to be delegated to",
      present: { identityRequired: true, identities: { clerk: "enrolled" } },
      want: allow,
    },
    { name: "identity not required: unknown agents pass", want: allow },
  ]),
  ...table(byHuman, [
    {
      name: "identity required: the person is no agent and needs none for a tool",
      present: { identityRequired: true },
      want: allow,
    },
    {
      name: "identity required: the person is no agent and needs none to delegate",
      target: "planner",
      targetKind: "agent",
      present: { identityRequired: true },
      want: allow,
    },
  ]),
];

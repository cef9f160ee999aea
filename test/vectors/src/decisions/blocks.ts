import type { Block } from "@svc/core";
import { acrossScopes, agent, tool } from "../manifest.ts";
import { allow, consentTo, deny, table } from "../vector.ts";

const manifests = {
  planner: acrossScopes(
    agent("expenses", 4, {
      tools: [
        tool("mcp:ledger/post", "finance"),
        tool("mcp:ledger/post_all", "finance"),
        tool("mcp:ledger#resources/read", "finance"),
        tool("mcp:ledger2/post", "finance"),
        tool("http:ledger/post", "finance"),
      ],
      downstream_agents: ["clerk"],
    }),
    agent("travel", 4, { tools: [tool("mcp:trips/book", "finance")] }),
  ),
  clerk: agent("expenses", 4, { tools: [tool("mcp:ledger/void", "finance")] }),
  lawyer: agent("expenses", 4, { tools: [tool("http:law/read", "finance")] }),
};

const blocked = (kind: Block["kind"], ref: string) => ({ blocks: [{ kind, ref }] });
const refused = deny("TARGET_BLOCKED");

const call = {
  manifests,
  scope: "expenses",
  chain: ["planner"],
  target: "mcp:ledger/post",
  targetKind: "tool",
  dataClass: "finance",
} as const;

const protocolCall = { ...call, target: "mcp:ledger", dataClass: "protocol" } as const;
const delegation = { ...call, target: "clerk", targetKind: "agent" } as const;

/** Check 4. */
export const blockVectors = [
  ...table(call, [
    { name: "a block on the tool", present: blocked("tool", "mcp:ledger/post"), want: refused },
    {
      name: "a block on a tool whose name begins the same",
      present: blocked("tool", "mcp:ledger/post_all"),
      want: allow,
    },
    {
      name: "a block on a tool whose name starts with this one",
      target: "mcp:ledger/post_all",
      present: blocked("tool", "mcp:ledger/post"),
      want: allow,
    },
    { name: "a block is case-sensitive", present: blocked("tool", "mcp:ledger/Post"), want: allow },
    { name: "a block on the MCP server covers its tools", present: blocked("tool", "mcp:ledger"), want: refused },
    {
      name: "a block on the MCP server covers its other methods",
      target: "mcp:ledger#resources/read",
      present: blocked("tool", "mcp:ledger"),
      want: refused,
    },
    { name: "a block on an MCP server of a longer name", present: blocked("tool", "mcp:ledger2"), want: allow },
    {
      name: "a block on an MCP server of a shorter name",
      target: "mcp:ledger2/post",
      present: blocked("tool", "mcp:ledger"),
      want: allow,
    },
    { name: "a block on the server's name without its scheme", present: blocked("tool", "ledger"), want: allow },
    {
      name: "a block on an MCP server leaves HTTP tools of that name",
      target: "http:ledger/post",
      present: blocked("tool", "mcp:ledger"),
      want: allow,
    },
    { name: "an agent block does not cover a tool", present: blocked("agent", "mcp:ledger/post"), want: allow },
    { name: "a scope block does not cover a tool", present: blocked("scope", "mcp:ledger/post"), want: allow },
    { name: "a block on the caller", present: blocked("agent", "planner"), want: refused },
    { name: "a block on an agent outside the chain", present: blocked("agent", "clerk"), want: allow },
    { name: "a block on the session's scope", present: blocked("scope", "expenses"), want: refused },
    { name: "a block on another scope", present: blocked("scope", "travel"), want: allow },
    { name: "a block on a scope whose name begins the same", present: blocked("scope", "expense"), want: allow },
    {
      name: "the second of two blocks",
      present: {
        blocks: [
          { kind: "agent", ref: "lawyer" },
          { kind: "tool", ref: "mcp:ledger/post" },
        ],
      },
      want: refused,
    },
    {
      name: "a decision does not reveal that an undeclared tool is blocked",
      target: "http:law/read",
      present: blocked("tool", "http:law/read"),
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: "a decision does not reveal that an undeclared MCP server is blocked",
      target: "mcp:ledger/void",
      present: blocked("tool", "mcp:ledger"),
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: "a decision does not reveal that a tool of another scope is blocked",
      target: "mcp:trips/book",
      present: blocked("tool", "mcp:trips/book"),
      want: consentTo("travel"),
    },
  ]),
  ...table(protocolCall, [
    { name: "a block on the MCP server covers its protocol", present: blocked("tool", "mcp:ledger"), want: refused },
    {
      name: "a block on one tool leaves the server's protocol",
      present: blocked("tool", "mcp:ledger/post"),
      want: allow,
    },
  ]),
  ...table(delegation, [
    { name: "a block on the target agent", present: blocked("agent", "clerk"), want: refused },
    { name: "a tool block does not cover an agent", present: blocked("tool", "clerk"), want: allow },
    {
      name: "a block on a tool of the target agent leaves the delegation",
      present: blocked("tool", "mcp:ledger/void"),
      want: allow,
    },
    {
      name: "a decision does not reveal that an undeclared agent is blocked",
      target: "lawyer",
      present: blocked("agent", "lawyer"),
      want: deny("TARGET_NOT_DECLARED"),
    },
  ]),
  ...table({ ...call, chain: ["planner", "clerk"], target: "mcp:ledger/void" }, [
    { name: "a block on an agent before the caller", present: blocked("agent", "planner"), want: refused },
    { name: "a block on another tool of the caller", present: blocked("tool", "mcp:ledger/post"), want: allow },
  ]),
  ...table({ ...call, chain: [] }, [
    { name: "a blocked tool is refused to the person too", present: blocked("tool", "mcp:ledger/post"), want: refused },
    { name: "a blocked scope is refused to the person too", present: blocked("scope", "expenses"), want: refused },
    {
      name: "a blocked entry agent is refused to the person",
      target: "planner",
      targetKind: "agent",
      present: blocked("agent", "planner"),
      want: refused,
    },
    {
      name: "the person does not see a block on an agent that is no entry",
      target: "clerk",
      targetKind: "agent",
      present: blocked("agent", "clerk"),
      want: deny("TARGET_NOT_DECLARED"),
    },
  ]),
];

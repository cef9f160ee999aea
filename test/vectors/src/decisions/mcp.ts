import { agent, tool } from "../manifest.ts";
import { allow, deny, table } from "../vector.ts";

const guarded = { privileged: true, guarantee_level: "full" } as const;

const manifests = {
  planner: agent("files", 4, {
    tools: [
      tool("mcp:drive/write", "docs", guarded),
      tool("mcp:drive/fetch", "docs", { result_taint: "untrusted_external", guarantee_level: "connector" }),
      tool("mcp:feed#resources/read", "docs", guarded),
      tool("http:drive/list", "protocol"),
    ],
    downstream_agents: ["clerk", "mute"],
  }),
  clerk: agent("files", 4, { tools: [tool("mcp:drive/read", "docs"), tool("mcp:archive/read", "docs")] }),
  mute: agent("files", 4, { tools: [tool("http:drive/list", "docs")] }),
};

const byPlanner = {
  manifests,
  scope: "files",
  chain: ["planner"],
  target: "mcp:drive",
  targetKind: "tool",
  dataClass: "protocol",
} as const;

/** The implicit tool of an MCP server, per agent that declares the server (docs/reference/manifest.md#mcp-servers). */
export const mcpProtocolVectors = [
  ...table(byPlanner, [
    { name: "the protocol of a server whose tool the agent declares", want: allow },
    { name: "the protocol of a server of which the agent declares another method", target: "mcp:feed", want: allow },
    {
      name: "the protocol of a server that the agent does not use",
      target: "mcp:archive",
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: "the protocol of a server whose name begins the same",
      target: "mcp:driv",
      want: deny("TARGET_NOT_DECLARED"),
    },
    { name: "the protocol with another data class", dataClass: "docs", want: deny("DATA_CLASS_NOT_DECLARED") },
    {
      name: "the protocol with a class that begins the same",
      dataClass: "protocols",
      want: deny("DATA_CLASS_NOT_DECLARED"),
    },
    {
      name: "a declared tool with the protocol's class",
      target: "mcp:drive/write",
      want: deny("DATA_CLASS_NOT_DECLARED", { privileged: true }),
    },
    {
      name: "another method of the server is a separate tool",
      target: "mcp:drive#resources/read",
      dataClass: "docs",
      want: deny("TARGET_NOT_DECLARED"),
    },
    {
      name: "a declared method of a server",
      target: "mcp:feed#resources/read",
      dataClass: "docs",
      want: { ...allow, privileged: true },
    },
    { name: "the protocol is within every narrowed scope", narrowedTo: ["docs.drafts"], want: allow },
    {
      name: "a class below the protocol's is within no narrowed scope",
      dataClass: "protocol.extra",
      narrowedTo: ["docs"],
      want: deny("DATA_CLASS_WIDENED"),
    },
    {
      name: "the class of another target is within no narrowed scope",
      target: "http:drive/list",
      narrowedTo: ["docs"],
      want: deny("DATA_CLASS_WIDENED"),
    },
    {
      name: "the protocol is unprivileged and accepts taint, with any tools of the server",
      target: "mcp:feed",
      tokenTaint: "untrusted_external",
      overHttp: false,
      want: { ...allow, taint: "untrusted_external" },
    },
    {
      name: "the protocol has the guarantee level of the server's weakest tool",
      want: { ...allow, guaranteeLevel: "connector" },
    },
  ]),
  ...table({ ...byPlanner, chain: ["planner", "clerk"] }, [
    { name: "a later agent has the protocol of the servers it uses itself", target: "mcp:archive", want: allow },
    {
      name: "a later agent does not have the protocol of its caller's servers",
      target: "mcp:feed",
      want: deny("TARGET_NOT_DECLARED"),
    },
    { name: "hop 3 may use the protocol in any narrowed scope", narrowedTo: ["docs.drafts"], want: allow },
  ]),
  ...table({ ...byPlanner, chain: ["planner", "mute"] }, [
    { name: "an agent without a tool of the server does not have its protocol", want: deny("TARGET_NOT_DECLARED") },
  ]),
  ...table({ ...byPlanner, chain: [] }, [
    { name: "the person has the protocol of its entry agents' servers", want: allow },
    {
      name: "the person does not have the protocol of a later agent's servers",
      target: "mcp:archive",
      want: deny("TARGET_NOT_DECLARED"),
    },
  ]),
];

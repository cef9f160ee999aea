import type { Suggestions } from "@svc/core";
import { Document, isMap, isPair, isSeq, type Node } from "yaml";
import { shown } from "../output.ts";

type Upstream = Suggestions["upstreams"][number];

const callsOf = (calls: number): string => (calls === 1 ? "1 call" : `${calls} calls`);

/** The entries to add, each upstream by its name, with a comment on each. */
export function upstreamsYaml({ upstreams }: Suggestions): string {
  const document = new Document({ upstreams: upstreams.map(entryOf) });
  document.commentBefore =
    " To be reviewed: targets and data classes are guessed. Add each entry to the upstream of its name.";
  upstreams.forEach((upstream, index) => {
    comment(document.getIn(["upstreams", index], true), upstream.open.map(openLine));
    annotate(
      document,
      ["upstreams", index, "routes"],
      upstream.routes.map(({ calls, note }) => [callsOf(calls), ...(note === undefined ? [] : [note])].join("; ")),
    );
    annotate(
      document,
      ["upstreams", index, "tools"],
      upstream.tools.map(({ calls }) => callsOf(calls)),
    );
  });
  return document.toString({ lineWidth: 0 });
}

const entryOf = ({ name, routes, tools }: Upstream): object => ({
  name,
  ...(routes.length > 0 && { routes: routes.map(({ calls: _, note: __, ...route }) => route) }),
  ...(tools.length > 0 && { tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.data_class])) }),
});

const openLine = ({ method, path, calls, why }: Upstream["open"][number]): string =>
  // The name of an MCP method is the agent's text.
  shown(`not suggested: ${method} ${path} (${callsOf(calls)}): ${why}`);

/** A comment above each item; each item of a list in one line. */
function annotate(document: Document, path: readonly (string | number)[], comments: readonly string[]): void {
  const list = document.getIn(path, true);
  if (!isSeq(list) && !isMap(list)) return;
  list.items.forEach((item, index) => {
    if (isMap(item)) item.flow = true;
    comment(isPair(item) ? item.key : item, comments.slice(index, index + 1));
  });
}

function comment(node: unknown, lines: readonly string[]): void {
  if (lines.length > 0) (node as Node).commentBefore = lines.map((line) => ` ${line}`).join("\n");
}

/** The `tools` of a manifest that declares every suggested target. */
export function manifestTools({ upstreams }: Suggestions): string {
  const tools = new Map<string, { ref: string; data_classes: string[]; access: "read" | "write" }>();
  for (const { name, routes, tools: messages } of upstreams) {
    for (const { target, data_class, methods } of routes) {
      const isRead = methods.every((method) => ["GET", "HEAD", "OPTIONS"].includes(method));
      tools.set(target, { ref: target, data_classes: [data_class], access: isRead ? "read" : "write" });
    }
    for (const message of messages) {
      const ref = `mcp:${name}${message.name}`;
      tools.set(ref, { ref, data_classes: [message.data_class], access: "read" });
    }
  }
  const document = new Document({ tools: [...tools.values()] });
  annotate(document, ["tools"], []);
  document.commentBefore = " To be reviewed: a tool may need privileged: true, accepts_taint or result_taint.";
  return document.toString({ lineWidth: 0 });
}

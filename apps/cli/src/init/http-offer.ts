import { guess, type Offer, type OfferedTool, reads, writes } from "./offer.ts";
import type { Source } from "./source.ts";
import { judgeResults } from "./taint.ts";

const reading = ["GET", "HEAD", "OPTIONS"];
const writing = ["POST", "PUT", "PATCH", "DELETE"];

/** Two tools for an API that nothing describes: everything that reads, and everything else. */
export function httpOffer({ name, url }: Extract<Source, { kind: "http" }>, isTrusted: boolean): Offer {
  const results = judgeResults("", undefined, isTrusted);
  const coarse = guess("every path is one tool: routes of your own, above these, tell them apart");
  const tools: readonly OfferedTool[] = [
    {
      ...{ ref: `http:${name}/read`, dataClass: reads(name), access: "read", privileged: false },
      ...{ resultTaint: results.resultTaint, notes: [coarse, ...results.notes] },
    },
    {
      ...{ ref: `http:${name}/write`, dataClass: writes(name), access: "write", privileged: false },
      ...{ acceptsTaint: false, resultTaint: results.resultTaint },
      notes: [guess("no untrusted caller: methods POST, PUT, PATCH, DELETE of unknown bodies"), ...results.notes],
    },
  ];
  const routes = tools.flatMap(({ ref: target, dataClass, access }) =>
    ["/", "/*"].map((path) => ({ methods: access === "read" ? reading : writing, path, target, dataClass })),
  );
  return {
    name,
    read: "not asked: nothing describes it",
    endpoint: { protocol: "http", url: url.replace(/\/+$/, ""), routes },
    tools,
    leftOut: [],
  };
}

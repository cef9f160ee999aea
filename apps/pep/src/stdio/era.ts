import { mcpMeta } from "@svc/core";
import type { Message } from "./message.ts";
import type { SessionProcess } from "./processes.ts";

/** For a server that answers no request before `initialize`. */
const probeMs = 5_000;

/** Errors that only a stateless server answers with (MCP 2026-07-28, Error Codes). */
const statelessErrors = new Set([-32020, -32021, -32022]);

const probe: Message = {
  ...{ kind: "request", id: "svc-server-discover", method: "server/discover" },
  ...{ progressToken: undefined, requestId: undefined, version: undefined, errorCode: undefined },
};

const probeText = (version: string): string =>
  JSON.stringify({
    ...{ jsonrpc: "2.0", id: probe.id, method: probe.method },
    params: {
      _meta: {
        [mcpMeta.revision]: version,
        [mcpMeta.clientInfo]: { name: "svc-pep", version: "1" },
        [mcpMeta.clientCapabilities]: {},
      },
    },
  });

const decisions = new WeakMap<SessionProcess, Promise<"initialize" | "stateless">>();

/** Which clients a process serves, by one `server/discover` (MCP 2026-07-28, stdio: Backward Compatibility). */
export function eraOf(each: SessionProcess, version: string): Promise<"initialize" | "stateless"> {
  const known = decisions.get(each) ?? probeEra(each, version);
  decisions.set(each, known);
  return known;
}

function probeEra({ process }: SessionProcess, version: string): Promise<"initialize" | "stateless"> {
  return new Promise((resolve) => {
    const decide = (era: "initialize" | "stateless") => {
      clearTimeout(late);
      if (era === "stateless") process.setEra(era);
      resolve(era);
    };
    const caller = {
      request: probe,
      answered: (_line: Buffer, errorCode: number | undefined) =>
        decide(errorCode === undefined || statelessErrors.has(errorCode) ? "stateless" : "initialize"),
      event() {},
      cancelled() {},
      failed: () => decide("initialize"),
    };
    const late = setTimeout(() => {
      process.cancel(caller);
      decide("initialize");
    }, probeMs);
    process.call(caller, Buffer.from(probeText(version)));
  });
}

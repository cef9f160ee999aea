import { readFileSync } from "node:fs";
import type { HopCredential } from "@svc/hop";
import { watchFiles } from "@svc/host";
import { z } from "zod";

const sessionFile = z.object({ session_id: z.string().min(1).max(255), token: z.string().min(1).max(16_384) });

export interface AmbientSession {
  /** Undefined while there is no file. */
  current(): HopCredential | undefined;
  stop(): void;
}

/**
 * The session of an agent that knows nothing of us, from a file that is read again on change (contract: An agent that
 * knows nothing of us). A file that cannot be read as one keeps the session before; a missing file ends it.
 */
export function ambientSession(file: string, onRefused: () => void): AmbientSession {
  let session: HopCredential | undefined;
  const read = () => {
    const text = textOf(file);
    const found = text === undefined ? undefined : sessionIn(text);
    if (found === "refused") onRefused();
    else session = found;
  };
  read();
  const watching = watchFiles(() => [file], read);
  return { current: () => session, stop: () => watching.stop() };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function sessionIn(text: string): HopCredential | "refused" {
  try {
    const { session_id: sessionId, token } = sessionFile.parse(JSON.parse(text));
    return { sessionId, token };
  } catch {
    return "refused";
  }
}

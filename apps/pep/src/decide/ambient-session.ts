import { readFileSync } from "node:fs";
import type { HopCredential } from "@svc/hop";
import { watchFiles } from "@svc/host";
import { z } from "zod";

const sessionFile = z.object({ session_id: z.string().min(1).max(255), token: z.string().min(1).max(16_384) });

/**
 * The session of an agent that presents none (docs/reference/enforcement-point.md#ambient-session). An invalid file
 * keeps the session before; a missing file ends it.
 */
export function ambientSession(file: string, onRefused: () => void) {
  let session: HopCredential | undefined;
  const read = () => {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch {
      session = undefined;
      return;
    }
    try {
      const { session_id: sessionId, token } = sessionFile.parse(JSON.parse(text));
      session = { sessionId, token };
    } catch {
      onRefused();
    }
  };
  read();
  const watching = watchFiles(() => [file], read);
  return { current: () => session, stop: watching.stop };
}

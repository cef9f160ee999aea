import { serverMetadata } from "@svc/core";
import { parseBody, type StepPorts, send } from "@svc/hop";

/** After so long it is read again; what was read before stays where that fails. */
const heldForMs = 300_000;

/** The issuer that the control plane's metadata name (RFC 8414): read when it is first needed, and kept. */
export function createIssuerReader(ports: StepPorts, deadlineMs: number) {
  let issuer: string | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const read = async () => {
    const path = "/.well-known/oauth-authorization-server";
    const sent = await send(ports, { method: "GET", path, headers: {} }, { deadlineMs });
    const metadata =
      sent.kind === "received" && sent.response.status === 200 ? parseBody(serverMetadata, sent.response) : undefined;
    if (metadata) {
      issuer = metadata.issuer;
      readAtMs = ports.monotonicMs();
    }
    reading = undefined;
  };

  /** Undefined: the control plane gave no usable answer yet. */
  return async (): Promise<string | undefined> => {
    const isFresh = ports.monotonicMs() - readAtMs < heldForMs;
    if (!isFresh) reading ??= read();
    if (issuer === undefined) await reading;
    return issuer;
  };
}

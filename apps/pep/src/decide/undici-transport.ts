import {
  type Deadlines,
  lineSplitter,
  sharedDeadlines,
  type Transport,
  TransportFault,
  type TransportRequest,
  type TransportResponse,
} from "@svc/hop";
import type { Dispatcher } from "undici";

/** The hop's transport over undici. A path in the base address is kept. */
export function undiciTransport(
  dispatcher: Dispatcher,
  baseUrl: URL,
  deadlines: Deadlines = sharedDeadlines(() => performance.now()),
): Transport {
  const { origin, pathname } = baseUrl;
  const prefix = pathname.replace(/\/+$/, "");
  return { send: (request) => send(dispatcher, deadlines, origin, prefix + request.path, request) };
}

function send(
  dispatcher: Dispatcher,
  deadlines: Deadlines,
  origin: string,
  path: string,
  request: TransportRequest,
): Promise<TransportResponse> {
  const { method, headers, body, deadlineMs, maxResponseBytes, signal, onLines } = request;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let received: Record<string, string> = {};
    let bytes = 0;
    const chunks: Buffer[] = [];
    let keep = (chunk: Buffer): unknown => chunks.push(chunk);
    let fault: TransportFault | undefined;

    let isSettled = false;
    const giveUp = (code: "timeout" | "aborted" | "too_large") => {
      if (isSettled) return;
      // A queued request is aborted before its first byte.
      fault ??= new TransportFault(code, { isUnsent: controller === undefined });
      controller?.abort(fault);
      // A queued request has no controller yet: `onRequestStart` aborts it.
      settle();
      reject(fault);
    };
    const onAbort = () => giveUp("aborted");
    const cancelDeadline = deadlines(deadlineMs, () => giveUp("timeout"));
    const settle = () => {
      isSettled = true;
      cancelDeadline();
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });

    dispatcher.dispatch(
      // One deadline bounds the whole request instead.
      { origin, path, method, headers, body: body ?? null, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(started) {
          controller = started;
          if (fault) started.abort(fault);
        },
        onResponseStart(_controller, statusCode, fields) {
          status = statusCode;
          if (onLines && status === 200) keep = lineSplitter(onLines);
          received = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value ?? "")]));
        },
        onResponseData(_controller, chunk) {
          bytes += chunk.length;
          if (bytes > maxResponseBytes) giveUp("too_large");
          else keep(chunk);
        },
        onResponseEnd() {
          settle();
          resolve({ status, headers: received, body: Buffer.concat(chunks).toString("utf8") });
        },
        onResponseError(_controller, cause) {
          settle();
          // A request that never started was never sent.
          reject(fault ?? new TransportFault(controller ? "unreachable" : "refused", { cause }));
        },
      },
    );
  });
}

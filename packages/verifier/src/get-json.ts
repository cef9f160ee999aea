import { readBounded } from "@svc/core/read-bounded";
import type { VerifierPorts } from "./ports.ts";

/** Why something could not be read from the control plane. The message names no address and no credential. */
export class RefreshFault extends Error {
  override readonly name = "RefreshFault";
  readonly status: number | undefined;

  constructor(problem: string, options: ErrorOptions & { status?: number } = {}) {
    super(`control plane: ${problem}`, options);
    this.status = options.status;
  }
}

const deadlineMs = 5_000;
const maxBytes = 2 * 1024 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a document once, within 5 s and 2 MiB. @throws {RefreshFault} also for a status but 200, which it carries */
export async function getJson(ports: VerifierPorts, url: string, bearer?: string): Promise<unknown> {
  const controller = new AbortController();
  const cancelTimer = ports.after(deadlineMs, () => controller.abort());
  try {
    const response = await ports.fetch(url, {
      headers: { accept: "application/json", ...(bearer && { authorization: `Bearer ${bearer}` }) },
      redirect: "manual",
      signal: controller.signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new RefreshFault(`status ${response.status}`, { status: response.status });
    }
    const bytes = await readBounded(response.body, maxBytes);
    if (bytes === undefined) throw new RefreshFault("too large");
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw cause instanceof RefreshFault ? cause : new RefreshFault("no usable answer", { cause });
  } finally {
    cancelTimer();
  }
}

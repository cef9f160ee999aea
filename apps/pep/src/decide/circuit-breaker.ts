import { type Transport, TransportFault, type TransportFaultCode } from "@svc/hop";

/** So many requests in a row that got no answer: where they went, nobody is. */
const silencesToOpen = 5;
/** From then on one request in this time finds out whether somebody is back. */
const tryAgainMs = 1_000;

/** An answer that says no is an answer, and an agent that goes away says nothing about the control plane. */
const silences: readonly TransportFaultCode[] = ["refused", "unreachable", "timeout"];

/**
 * A transport that does not ask where nobody answers, so that calls are refused at once instead of each holding its
 * place until its deadline, and a control plane that comes back is not met by all of them together.
 *
 * Each endpoint stands for itself: one that hangs says nothing about the others, and takes none of their causes. What
 * is not asked fails as `refused`: nothing was sent, so nothing was spent. There is no state in which one slow try
 * keeps the next one waiting. Measured on a clock that never steps, which rules out the libraries that were looked at.
 */
export function breakingTransport(transport: Transport, monotonicMs: () => number): Transport {
  const circuits = new Map<string, Circuit>();
  const circuitOf = (path: string): Circuit => {
    const [endpoint = ""] = path.split("?");
    const known = circuits.get(endpoint) ?? createCircuit(monotonicMs);
    circuits.set(endpoint, known);
    return known;
  };
  return {
    async send(request) {
      const circuit = circuitOf(request.path);
      if (!circuit.mayAsk()) throw new TransportFault("refused");
      try {
        const answer = await transport.send(request);
        circuit.answered();
        return answer;
      } catch (error) {
        if (error instanceof TransportFault && silences.includes(error.code)) circuit.silent();
        throw error;
      }
    },
  };
}

interface Circuit {
  /** True lets one request go. */
  mayAsk(): boolean;
  answered(): void;
  silent(): void;
}

function createCircuit(monotonicMs: () => number): Circuit {
  let silencesInARow = 0;
  let nextTryMs = 0;
  const postpone = () => {
    nextTryMs = monotonicMs() + tryAgainMs;
  };
  return {
    mayAsk() {
      if (silencesInARow < silencesToOpen) return true;
      if (monotonicMs() < nextTryMs) return false;
      postpone();
      return true;
    },
    answered() {
      silencesInARow = 0;
    },
    silent() {
      silencesInARow += 1;
      if (silencesInARow === silencesToOpen) postpone();
    },
  };
}

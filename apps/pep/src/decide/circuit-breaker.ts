import { type Transport, TransportFault, type TransportFaultCode } from "@svc/hop";

/** Failures in a row that open the circuit. */
const failureThreshold = 5;
/** An open circuit lets one request through in this time. */
const retryMs = 1_000;

/** A refusal is a response, and an agent that disconnects proves nothing about the control plane. */
const failures: readonly TransportFaultCode[] = ["refused", "unreachable", "timeout"];

/**
 * Refuses requests to an endpoint that stopped responding, so that calls fail at once instead of each holding a slot until
 * its deadline. Each endpoint has its own circuit. A refused request fails as `refused`: not sent, so nothing is spent.
 */
export function breakingTransport(transport: Transport, monotonicMs: () => number): Transport {
  const circuits = new Map<string, { failuresInARow: number; nextTryMs: number }>();
  const circuitOf = (path: string) => {
    const [endpoint = ""] = path.split("?");
    const known = circuits.get(endpoint) ?? { failuresInARow: 0, nextTryMs: 0 };
    circuits.set(endpoint, known);
    return known;
  };
  const allowRequest = (circuit: ReturnType<typeof circuitOf>): boolean => {
    if (circuit.failuresInARow < failureThreshold) return true;
    if (monotonicMs() < circuit.nextTryMs) return false;
    circuit.nextTryMs = monotonicMs() + retryMs;
    return true;
  };
  return {
    async send(request) {
      const circuit = circuitOf(request.path);
      if (!allowRequest(circuit)) throw new TransportFault("refused");
      try {
        const response = await transport.send(request);
        circuit.failuresInARow = 0;
        return response;
      } catch (error) {
        if (error instanceof TransportFault && failures.includes(error.code)) {
          circuit.failuresInARow += 1;
          if (circuit.failuresInARow === failureThreshold) circuit.nextTryMs = monotonicMs() + retryMs;
        }
        throw error;
      }
    },
  };
}

import {
  type StepPorts,
  type Transport,
  TransportFault,
  type TransportFaultCode,
  type TransportRequest,
} from "../../src/index.ts";

/** One response of the control plane, or a fault in its place. */
export type Scripted = TransportFaultCode | { status: number; body: unknown };

/** A transport that returns scripted responses and keeps the requests. */
export function scripted(...answers: Scripted[]): Transport & { readonly sent: TransportRequest[] } {
  const sent: TransportRequest[] = [];
  return {
    sent,
    async send(request) {
      sent.push(request);
      const answer = answers[Math.min(sent.length, answers.length) - 1];
      if (answer === undefined || typeof answer === "string") throw new TransportFault(answer ?? "unreachable");
      const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      return { status: answer.status, headers: {}, body };
    },
  };
}

export const portsOf = (transport: Transport, more: Partial<StepPorts> = {}): StepPorts => ({
  transport,
  monotonicMs: () => 0,
  ...more,
});

export const oauthRefusal = (status: number, error: string, description = "refused", action_id?: string): Scripted => ({
  status,
  body: { error, error_description: description, action_id },
});

export const refusal = (status: number, code: string, details?: object): Scripted => ({
  status,
  body: { error: { code, message: "refused" }, ...(details && { details }) },
});

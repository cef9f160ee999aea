export interface HopTarget {
  readonly target: string;
  readonly targetKind: "tool" | "agent";
  readonly dataClass: string;
}

export const authorizeBody = (sessionId: string, { target, targetKind, dataClass }: HopTarget): string =>
  JSON.stringify({ session_id: sessionId, target, target_kind: targetKind, data_class: dataClass });

/** RFC 8693 section 2.1. */
export const exchangeBody = (subjectToken: string, { target, dataClass }: HopTarget, actionId: string): string =>
  new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: subjectToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    resource: target,
    scope: dataClass,
    action_id: actionId,
  }).toString();

/** A line of `POST /v1/hops`. */
export const hopLineText = (sessionId: string, token: string, { target, targetKind, dataClass }: HopTarget): string => {
  const line = { session_id: sessionId, target, target_kind: targetKind, data_class: dataClass, enforced: true };
  return `${JSON.stringify({ ...line, token, body_settled: true, traceparent })}\n`;
};

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

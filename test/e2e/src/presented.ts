import type { FaultProxy } from "@svc/test-support";

type Sent = Pick<FaultProxy, "sent">;

/** Every token presented to an exchange or a renewal, and every token of a line of hops, each in order. */
export function presentedTokens(line: Sent): {
  readonly toSteps: readonly string[];
  readonly toLines: readonly string[];
} {
  const sent = line.sent().toString("latin1");
  const tokensIn = (pattern: RegExp) => [...sent.matchAll(pattern)].map(([, token = ""]) => token);
  return {
    toSteps: [
      ...tokensIn(/subject_token=([\w.-]+)/g),
      ...tokensIn(/POST \/v1\/token\/renew [\s\S]*?authorization: Bearer ([\w.-]+)/gi),
    ],
    toLines: tokensIn(/"token":"([\w.-]+)"/g),
  };
}

/** Where a line of hops may be answered by its decision alone, which spends nothing: its exchange follows. */
export function presentedToBeSpent(line: Sent): readonly string[] {
  const { toSteps, toLines } = presentedTokens(line);
  return [...toSteps, ...toLines.filter((token) => !toSteps.includes(token))];
}

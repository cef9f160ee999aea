import type { DecisionRecord } from "@svc/core";

/** A call was denied that a person's consent would admit. */
export interface ConsentRequested {
  /** The link to the question. */
  readonly url: string;
  readonly userSub: string;
  readonly scope: string;
  readonly record: Pick<
    DecisionRecord,
    "actionId" | "sessionId" | "actingAgent" | "target" | "dataClass" | "decidedAtMs"
  >;
}

/** Never throws. */
export type AskPerson = (request: ConsentRequested) => void;

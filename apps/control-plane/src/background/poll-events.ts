import type { EventTaken } from "../commands/signals/receive-event.ts";
import type { EventAnswers, EventPoll, SetRefused } from "../ports/security-events.ts";
import { repeat } from "./repeat.ts";

interface PollEvents {
  readonly poll: EventPoll;
  readonly receive: (token: string) => Promise<EventTaken | SetRefused>;
  readonly onFault: (error: unknown) => void;
  /** Default 5 seconds. */
  readonly everyMs?: number;
}

/** Without a pause: a provider may forget what was acknowledged. */
const mostRounds = 100;

const nothing: EventAnswers = { ack: [], setErrs: {} };

/**
 * Fetches the identity provider's events now and every few seconds. Each is acknowledged with the next poll, after its
 * effect. Processes poll independently: whichever comes second finds that a token was received.
 */
export function pollEvents({ poll, receive, onFault, everyMs = 5_000 }: PollEvents) {
  let answers = nothing;
  const take = async (sets: Readonly<Record<string, string>>): Promise<void> => {
    for (const [jti, token] of Object.entries(sets)) {
      const taken = await receive(token);
      if (taken.kind === "taken") answers = { ...answers, ack: [...answers.ack, jti] };
      else {
        const { err, description } = taken;
        answers = { ...answers, setErrs: { ...answers.setErrs, [jti]: { err, description } } };
      }
    }
  };
  const pollAll = async (): Promise<void> => {
    for (let round = 0, isMore = true; isMore && round < mostRounds; round += 1) {
      const { sets, moreAvailable } = await poll(answers);
      answers = nothing;
      await take(sets);
      isMore = moreAvailable || Object.keys(sets).length > 0;
    }
  };
  return { close: repeat(pollAll, () => everyMs, onFault, "first").close };
}

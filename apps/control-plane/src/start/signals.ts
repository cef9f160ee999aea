import { pollEvents } from "../background/poll-events.ts";
import { receiveEvent } from "../commands/signals/receive-event.ts";
import { eventPoll } from "../identity-provider/event-poll.ts";
import type { Deps } from "../routes/deps.ts";
import { reportEnds } from "../routes/signals/receive.ts";
import type { Config } from "./config.ts";

/** What runs beside the routes of shared signals. */
export function startSignals({ signals }: Config, deps: Deps): { close(): void } {
  const { securityEvents, events } = deps;
  if (securityEvents === undefined || signals?.poll === undefined) return { close: () => {} };
  return pollEvents({
    poll: eventPoll(signals.poll),
    async receive(token) {
      const taken = await receiveEvent({ ...deps, securityEvents }, token);
      if (taken.kind === "taken") reportEnds(deps, taken);
      return taken;
    },
    onFault: events.requestFailed,
  });
}

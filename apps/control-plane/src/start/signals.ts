import { pollEvents } from "../background/poll-events.ts";
import { pushStreams } from "../background/push-streams.ts";
import { nextPush } from "../commands/signals/push-events.ts";
import { receiveEvent } from "../commands/signals/receive-event.ts";
import { deliverSet } from "../discovery/deliver-set.ts";
import { eventPoll } from "../identity-provider/event-poll.ts";
import type { Deps } from "../routes/deps.ts";
import { reportEnds } from "../routes/signals/receive.ts";
import type { Config } from "./config.ts";

/** What runs beside the routes of shared signals. */
export function startSignals({ signals, discoveryAllow }: Config, deps: Deps): { close(): void } {
  const onFault = deps.events.requestFailed;
  const deliver = deliverSet(discoveryAllow);
  const running: { close(): void }[] = [pushStreams({ nextPush: () => nextPush({ ...deps, deliver }), onFault })];
  const { securityEvents } = deps;
  if (securityEvents !== undefined && signals?.poll !== undefined) {
    const receive = async (token: string) => {
      const taken = await receiveEvent({ ...deps, securityEvents }, token);
      if (taken.kind === "taken") reportEnds(deps, taken);
      return taken;
    };
    running.push(pollEvents({ poll: eventPoll(signals.poll), receive, onFault }));
  }
  return {
    close() {
      for (const each of running) each.close();
    },
  };
}

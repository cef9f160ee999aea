import type { Telemetry } from "@svc/telemetry";
import { importIssuerKey } from "@svc/tokens";
import { uuidv7 } from "uuidv7";
import { runCounting } from "../background/run-counting.ts";
import { runRetention } from "../background/run-retention.ts";
import { runSealing } from "../background/run-sealing.ts";
import { watchRestore } from "../background/watch-restore.ts";
import { budgets } from "../budgets.ts";
import { createEvents, type Events } from "../events/events.ts";
import { authenticity } from "../postgres/authenticity.ts";
import { highWaterMarkCounter } from "../postgres/high-water-mark.ts";
import { issuerKeys } from "../postgres/issuer-keys.ts";
import { retention } from "../postgres/retention.ts";
import { recordSeals } from "../postgres/seals/record-seals.ts";
import { wouldBlockCounts } from "../postgres/would-block/counts.ts";
import { createApp } from "../routes/app.ts";
import { compose } from "./compose.ts";
import type { Config } from "./config.ts";
import { authenticityKey, encryptionKeyOf } from "./encryption-key.ts";
import { serve } from "./serve.ts";
import { startSignals } from "./signals.ts";
import { sinksOf, startSinks } from "./sinks.ts";
import { steadyClock } from "./steady-clock.ts";
import { openStores, type StoreEvents, type Stores } from "./stores.ts";

export interface ControlPlane {
  readonly url: string;
  /** `/readyz` returns 503 and answers close their connections from now on. New requests are still served. */
  stopBeingReady(): void;
  /** Lets requests finish until the deadline, then closes everything. */
  close(drainDeadlineMs: number): Promise<void>;
}

interface StartOptions extends Pick<StoreEvents, "onProgress" | "onDatabaseLost"> {
  readonly config: Config;
  readonly version: string;
  readonly telemetry: Telemetry<"control_plane">;
}

/** Opens the stores, migrates the schema, and listens. On a fault it closes the stores. */
export async function startControlPlane({ onProgress, onDatabaseLost, ...build }: StartOptions): Promise<ControlPlane> {
  const { config, telemetry } = build;
  const events = createEvents(telemetry);
  const clock = steadyClock({ onSetBack: events.clockSetBack });
  const stores = await openStores(config, {
    onGuardUnavailable: events.storeUnavailable,
    onStandbySilent: events.standbySilent,
    onProgress,
    onDatabaseLost,
  });
  const { reader, submissions } = stores;
  try {
    const fixedKey = config.issuerPrivateKey === undefined ? undefined : await importIssuerKey(config.issuerPrivateKey);
    const encryptionKey = await encryptionKeyOf(config.keyEncryptionKey, config.dataDir);
    const stored = authenticity(authenticityKey(config, encryptionKey));
    const keys = await issuerKeys({ pool: reader, clock, encryptionKey, fixedKey });
    const retiring = retention({ pool: submissions.within(budgets.read), clock, ids: { next: uuidv7 } });
    const housekeeping = await runRetention(retiring, events.housekeepingFailed);
    const sealing = runSealing({
      seals: recordSeals({
        pool: submissions.within(budgets.auditRead),
        signingKey: async () => (await keys.latest()).signingKey(),
        proof: { authenticity: stored, keys: () => keys.current().lookup },
      }),
      clock,
      onFault: events.sealingFailed,
      onBehind: events.sealingBehind,
      onClockBehind: events.clockBehind,
      onUnproven: events.sealsUnproven,
    });
    const delivering = await startSinks({
      ...build,
      sinks: sinksOf(stores, stored, keys),
      clock,
      onFault: events.storeUnavailable,
    });
    const counting = runCounting({
      counts: wouldBlockCounts(submissions),
      onFault: events.countingFailed,
    });
    const restoreWatch = await startRestoreWatch(stores, events);
    let isDraining = false;
    let endPush = (): void => {};
    let signals = { close: (): void => {} };
    const serving = await serve({ ...config, onBadCertificate: events.certificateUnusable }, async (url) => {
      const parts = {
        ...build,
        events,
        stores,
        issuerKeys: keys,
        clock,
        encryptionKey,
        authenticity: stored,
        restoreWatch,
      };
      const { lastHousekeepingMs } = housekeeping;
      const { oldestUnsealedMs, sealsAreProven } = sealing;
      const watched = { lastHousekeepingMs, oldestUnsealedMs, sealsAreProven, isDraining: () => isDraining };
      const deps = compose({ ...parts, ...watched, url });
      endPush = deps.push.end;
      signals = startSignals(config, deps);
      return createApp(deps).fetch;
    });
    return {
      url: serving.url,
      stopBeingReady: () => {
        isDraining = true;
        serving.closeAfterResponses();
        endPush();
      },
      async close(drainDeadlineMs) {
        endPush();
        await serving.drain(drainDeadlineMs);
        for (const running of [signals, keys, housekeeping, sealing, counting, restoreWatch]) running.close();
        await delivering.close();
        await stores.close();
      },
    };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

/** Compares before the first request, so that a restored database never grants anything. */
export function startRestoreWatch({ health, submissions, guard }: Stores, events: Events) {
  return watchRestore({
    counter: highWaterMarkCounter(health, submissions.within(budgets.commit)),
    store: guard,
    onBehind: events.restoreUnacknowledged,
    onFault: events.highWaterMarkFailed,
  });
}

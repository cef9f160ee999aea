import type { Telemetry } from "@svc/telemetry";
import { importIssuerKey } from "@svc/tokens";
import { uuidv7 } from "uuidv7";
import { keepHouse } from "../background/keep-house.ts";
import { keepSealing } from "../background/keep-sealing.ts";
import { createEvents } from "../events/events.ts";
import { housekeeping } from "../postgres/housekeeping.ts";
import { issuerKeys } from "../postgres/issuer-keys.ts";
import { recordSeals } from "../postgres/seals/record-seals.ts";
import type { DatabaseTaken } from "../postgres/tenancy.ts";
import { createApp } from "../routes/app.ts";
import { compose } from "./compose.ts";
import type { Config } from "./config.ts";
import { encryptionKeyOf } from "./encryption-key.ts";
import { startRestoreWatch } from "./restore-watch.ts";
import { serve } from "./serve.ts";
import { steadyClock } from "./steady-clock.ts";
import { budgets, openStores } from "./stores.ts";

export interface ControlPlane {
  readonly url: string;
  /** `/readyz` answers 503 and answers close their connections from now on; what comes is still served. */
  stopBeingReady(): void;
  /** Lets what is in flight finish until the deadline, then closes everything. */
  close(drainDeadlineMs: number): Promise<void>;
}

export interface StartOptions {
  readonly config: Config;
  readonly version: string;
  readonly telemetry: Telemetry<"control_plane">;
  readonly onProgress: (step: string) => void;
  readonly onTaken: (fault: DatabaseTaken) => void;
}

/** Opens the stores, brings the schema up to date, listens; on a fault it closes what it opened. */
export async function startControlPlane(options: StartOptions): Promise<ControlPlane> {
  const { config, version, telemetry, onProgress, onTaken } = options;
  const events = createEvents(telemetry);
  const clock = steadyClock({ onSetBack: events.clockSetBack });
  const stores = await openStores(config, {
    onGuardUnavailable: events.storeUnavailable,
    onStandbySilent: events.standbySilent,
    onProgress,
    onTaken,
  });
  try {
    const fixedKey = config.issuerPrivateKey === undefined ? undefined : await importIssuerKey(config.issuerPrivateKey);
    const encryptionKey = await encryptionKeyOf(config.keyEncryptionKey, config.dataDir);
    const keys = await issuerKeys({ sql: stores.reader, clock, deadlineMs: budgets.read, encryptionKey, fixedKey });
    const houseKeeper = await keepHouse({
      housekeeping: housekeeping({
        sql: stores.submissions,
        clock,
        ids: { next: uuidv7 },
        readDeadlineMs: budgets.read,
      }),
      onFault: events.housekeepingFailed,
    });
    const sealKeeper = keepSealing({
      seals: recordSeals({
        sql: stores.submissions,
        signingKey: async () => (await keys.latest()).signingKey,
        readDeadlineMs: budgets.auditRead,
      }),
      clock,
      onFault: events.sealingFailed,
      onBehind: events.sealingBehind,
      onClockBehind: events.clockBehind,
    });
    const restoreWatch = await startRestoreWatch(stores, events);
    let isDraining = false;
    const serving = await serve({ ...config, onBadCertificate: events.certificateUnusable }, async (url) => {
      const parts = { config, version, telemetry, events, stores, keys, clock, encryptionKey };
      const keepers = { houseKeeper, sealKeeper, restoreWatch };
      return createApp(compose({ ...parts, ...keepers, url, isDraining: () => isDraining })).fetch;
    });
    return {
      url: serving.url,
      stopBeingReady: () => {
        isDraining = true;
        serving.closeAfterResponses();
      },
      async close(drainDeadlineMs) {
        await serving.drain(drainDeadlineMs);
        keys.close();
        houseKeeper.close();
        sealKeeper.close();
        restoreWatch.close();
        await stores.close();
      },
    };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

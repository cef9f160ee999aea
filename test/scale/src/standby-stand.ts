import { type Api, createApi } from "@svc/test-conformance/api";
import { registerLedger } from "@svc/test-conformance/ledger";
import { addressOf, appRole, type OwnPostgres, ownerRole, startOwnPostgres } from "@svc/test-faults/postgres";
import { type Standby, startStandby } from "@svc/test-faults/standby";
import {
  budgets,
  type ControlPlane,
  type OwnRedis,
  startControlPlane,
  startOwnRedis,
  testBearers,
} from "@svc/test-support";
import { loggingStatements } from "./logged-statements.ts";

/** A control plane that reads the audit from a streaming standby; both servers log their statements. */
export interface StandbyStand {
  readonly primary: OwnPostgres;
  readonly standby: Standby;
  readonly controlPlane: ControlPlane;
  readonly api: Api;
  /** A further process of the same deployment. */
  startAnother(): Promise<ControlPlane>;
  stop(): Promise<void>;
}

export async function startStandbyStand(scope: string): Promise<StandbyStand> {
  const [primary, redis] = await Promise.all([startOwnPostgres({ settings: loggingStatements }), startOwnRedis()]);
  const standby = await startStandby(primary, "asynchronous");
  const start = () => startOne(primary, standby, redis);
  const controlPlane = await start();
  const api = createApi(controlPlane.url, testBearers);
  await registerLedger(api, scope);
  return {
    ...{ primary, standby, controlPlane, api },
    startAnother: start,
    async stop() {
      await controlPlane.stop();
      await standby.remove();
      await Promise.all([primary.remove(), redis.stop()]);
    },
  };
}

/** They end the calls to a standby that does not answer. */
const silentStandby = budgets({ auditRead: 5_000, probe: 5_000, connect: 5_000 });

const startOne = (primary: OwnPostgres, standby: OwnPostgres, redis: OwnRedis): Promise<ControlPlane> =>
  startControlPlane(
    {
      database: { appUrl: addressOf(appRole, primary.port), ownerUrl: addressOf(ownerRole, primary.port) },
      redis,
    },
    {
      SVC_ISSUER: "https://issuer.test",
      AUDIT_DATABASE_URL: addressOf(appRole, standby.port),
      ...silentStandby,
    },
  );

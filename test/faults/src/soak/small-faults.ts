import type { OwnRedis, Random } from "@svc/test-support";
import type { Deployment } from "../deployment.ts";
import { appRole } from "../postgres/server.ts";

interface SmallFault {
  readonly name: string;
  inject(deployment: Deployment<OwnRedis>): Promise<unknown>;
}

/** Faults that each fail a call or a few, and that a deployment meets every day. */
const smallFaults: readonly [SmallFault, ...SmallFault[]] = [
  {
    name: "a backend terminated",
    inject: ({ database }) =>
      database.execute(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${appRole}' order by random() limit 1`,
      ),
  },
  { name: "connections to PostgreSQL reset", inject: async ({ databaseAddress }) => databaseAddress.sever() },
  {
    name: "connections to the control planes reset",
    inject: async ({ controlPlaneAddress }) => controlPlaneAddress.sever(),
  },
  {
    name: "connections to Redis killed",
    inject: ({ store }) => store.command("CLIENT", "KILL", "TYPE", "normal"),
  },
];

/** Injects one that the seed chooses, and returns its name. */
export async function injectSmallFault(deployment: Deployment<OwnRedis>, random: Random): Promise<string> {
  const { name, inject } = random.of(smallFaults);
  await inject(deployment);
  return name;
}

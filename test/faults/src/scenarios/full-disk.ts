import { type Deployment, startUsualDeployment } from "../deployment.ts";
import { type SmallDisk, startOnSmallDisk } from "../postgres/small-disk.ts";
import type { Scenario } from "../stand.ts";

let disk: SmallDisk | undefined;

/** The scenario below knows this deployment's disk. */
export const startDeploymentOnSmallDisk = (): Promise<Deployment> =>
  startUsualDeployment({
    startDatabase: async () => {
      disk = await startOnSmallDisk();
      return disk;
    },
  });

export const fullDisk: Scenario = {
  name: "no room left on PostgreSQL's disk",
  async inject({ deployment, load }) {
    if (disk === undefined) throw new Error("this deployment's database is not on a small disk");
    await disk.fill();
    await load.fails(20);
    disk.makeRoom();
    // It exits where it cannot write its log; its supervisor restarts it.
    if (!(await isUp(deployment))) await deployment.database.start();
    return 1;
  },
};

const isUp = ({ database }: Deployment): Promise<boolean> =>
  database.execute("select 1").then(
    () => true,
    () => false,
  );

import { type SmallDisk, startOnSmallDisk } from "../postgres/small-disk.ts";
import type { Scenario } from "../stand.ts";
import { startUsualWorld, type World } from "../world.ts";

let disk: SmallDisk | undefined;

/** The scenario below knows the disk that this world's database lies on. */
export const startWorldOnSmallDisk = (): Promise<World> =>
  startUsualWorld({
    startDatabase: async () => {
      disk = await startOnSmallDisk();
      return disk;
    },
  });

export const fullDisk: Scenario = {
  name: "no room left on PostgreSQL's disk",
  async inject({ world, load }) {
    if (disk === undefined) throw new Error("this world's database does not lie on a small disk");
    await disk.fill();
    await load.fails(20);
    disk.makeRoom();
    // It ends where it cannot write its log; whoever runs it starts it again.
    if (!(await isUp(world))) await world.database.start();
    return 1;
  },
};

const isUp = ({ database }: World): Promise<boolean> =>
  database.execute("select 1").then(
    () => true,
    () => false,
  );

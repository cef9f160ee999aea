import type { Scenario, Stand } from "../stand.ts";
import { unready } from "../stand.ts";

/** A fault that keeps every call from passing for as long as it stands. */
export const outage = (
  name: string,
  { begin, end }: { begin(stand: Stand): Promise<void> | void; end(stand: Stand): Promise<void> | void },
): Scenario => ({
  name,
  async inject(stand) {
    await begin(stand);
    try {
      await unready(stand.world);
      await stand.load.fails(8);
    } finally {
      await end(stand);
    }
    return 1;
  },
});

const execute = ({ world }: Stand, statement: string) => world.database.execute(statement);

const readOnly = async (stand: Stand, isReadOnly: boolean) => {
  await execute(stand, `alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
  await execute(stand, "select pg_reload_conf()");
};

export const databaseShutDown = outage("PostgreSQL shut down", {
  begin: ({ world }) => world.database.shutDown(),
  end: ({ world }) => world.database.start(),
});

export const databaseStandsStill = outage("PostgreSQL stands still (SIGSTOP)", {
  begin: ({ world }) => world.database.freeze(),
  end: ({ world }) => world.database.thaw(),
});

export const databaseOutages: readonly Scenario[] = [
  databaseShutDown,
  databaseStandsStill,
  outage("PostgreSQL refuses writes", {
    begin: (stand) => readOnly(stand, true),
    end: (stand) => readOnly(stand, false),
  }),
  outage("the network to PostgreSQL swallows everything", {
    begin: ({ world }) => world.databaseNetwork.freeze(),
    end: ({ world }) => world.databaseNetwork.thaw(),
  }),
  outage("the network to PostgreSQL resets and refuses every connection", {
    begin: ({ world }) => world.databaseNetwork.refuse(),
    end: ({ world }) => world.databaseNetwork.accept(),
  }),
];

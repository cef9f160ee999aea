import type { Scenario, Stand } from "../stand.ts";
import { unready } from "../stand.ts";

/** A fault during which no call passes. */
export const outage = (
  name: string,
  { begin, end }: { begin(stand: Stand): Promise<void> | void; end(stand: Stand): Promise<void> | void },
): Scenario => ({
  name,
  async inject(stand) {
    await begin(stand);
    try {
      await unready(stand.deployment);
      await stand.load.fails(8);
    } finally {
      await end(stand);
    }
    return 1;
  },
});

const execute = ({ deployment }: Stand, statement: string) => deployment.database.execute(statement);

const readOnly = async (stand: Stand, isReadOnly: boolean) => {
  await execute(stand, `alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
  await execute(stand, "select pg_reload_conf()");
};

export const databaseShutDown = outage("PostgreSQL shut down", {
  begin: ({ deployment }) => deployment.database.shutDown(),
  end: ({ deployment }) => deployment.database.start(),
});

export const stoppedDatabase = outage("PostgreSQL stopped (SIGSTOP)", {
  begin: ({ deployment }) => deployment.database.freeze(),
  end: ({ deployment }) => deployment.database.thaw(),
});

export const databaseOutages: readonly Scenario[] = [
  databaseShutDown,
  stoppedDatabase,
  outage("PostgreSQL refuses writes", {
    begin: (stand) => readOnly(stand, true),
    end: (stand) => readOnly(stand, false),
  }),
  outage("the network to PostgreSQL drops everything", {
    begin: ({ deployment }) => deployment.databaseNetwork.freeze(),
    end: ({ deployment }) => deployment.databaseNetwork.thaw(),
  }),
  outage("the network to PostgreSQL resets and refuses every connection", {
    begin: ({ deployment }) => deployment.databaseNetwork.refuse(),
    end: ({ deployment }) => deployment.databaseNetwork.accept(),
  }),
];

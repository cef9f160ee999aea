import { describe, test } from "vitest";
import { type Attack, attackedRecord, expectOutcome, roles } from "./attacks.ts";

/** Attacks on the tables that hold the record, as `svc audit verify` finds them. */
const record = await attackedRecord();
const { first } = record.actions;
const thisMonth = `decision_${record.month.replace("-", "_")}`;

const attacks: readonly Attack[] = [
  {
    name: "drop a month",
    steps: ["drop table decision_2020_02"],
    service: "refused",
    owner: ["row_removed"],
  },
  {
    name: "detach a month",
    steps: [`alter table decision detach partition ${thisMonth}`],
    service: "refused",
    owner: ["partition_detached", "row_removed"],
  },
  {
    name: "attach a partition of another kind",
    steps: [
      "create table other_decisions (like decision including defaults including constraints)",
      "alter table decision attach partition other_decisions for values from ('f0000000-0000-7000-8000-000000000000') to ('f1000000-0000-7000-8000-000000000000')",
    ],
    service: "refused",
    owner: ["partition_foreign", "protection_off"],
    superuser: ["partition_foreign", "protection_off", "table_owner"],
  },
  {
    name: "hide rows by row-level security",
    steps: [
      `alter table ${thisMonth} enable row level security`,
      "alter table decision enable row level security",
      `create policy hidden on decision using (action_id <> '${first}')`,
    ],
    service: "refused",
    owner: ["row_security"],
  },
  {
    name: "prepare a policy of row-level security",
    steps: [`create policy hidden on spend using (action_id <> '${first}')`],
    service: "refused",
    owner: ["row_security"],
  },
  {
    name: "swallow inserts by a rule",
    steps: ["create rule swallowed as on insert to mint do instead nothing"],
    service: "refused",
    owner: ["rule"],
  },
  {
    name: "put a view in a table's place",
    steps: [
      "alter table mint rename to minted",
      `create view mint as select * from minted where action_id <> '${first}'`,
    ],
    service: "refused",
    owner: ["table_replaced", "protection_off", "row_removed"],
    superuser: ["table_replaced", "protection_off", "row_removed", "table_owner"],
  },
  {
    name: "swallow inserts by a trigger",
    steps: [
      "create function swallow() returns trigger language plpgsql as 'begin return null; end'",
      "create trigger a before insert on mint for each row execute function swallow()",
    ],
    service: "refused",
    owner: ["trigger_foreign"],
  },
  {
    name: "swallow inserts into a month by a trigger",
    steps: [
      "create function swallow() returns trigger language plpgsql as 'begin return null; end'",
      `create trigger a before insert on ${thisMonth} for each row execute function swallow()`,
    ],
    service: "refused",
    owner: ["trigger_foreign"],
  },
  {
    name: "turn a protecting trigger off",
    steps: ["alter table mint disable trigger append_only"],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "turn a protecting trigger of a month off",
    steps: [`alter table ${thisMonth} disable trigger user`],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "let a protecting trigger act only for a condition",
    steps: [
      "create or replace trigger append_only before update or delete on mint for each row when (false) execute function refuse_change()",
      "alter table mint enable always trigger append_only",
    ],
    service: "refused",
    owner: ["protection_off"],
  },
  {
    name: "replace what a protecting trigger does",
    steps: ["create or replace function refuse_change() returns trigger language plpgsql as 'begin return old; end'"],
    service: "refused",
    owner: ["protection_changed"],
  },
  {
    name: "let a table forget its rows in a crash",
    steps: ["alter table mint set unlogged"],
    service: "refused",
    owner: ["table_replaced"],
  },
  {
    name: "give a table to the service's role",
    steps: [`alter table mint owner to ${record.serviceRole}`],
    service: "refused",
    // It would have to be a member of the service's role.
    owner: "refused",
    superuser: ["table_owner"],
  },
];

describe("the record after an attack", () => {
  describe.each(roles)("by the %s", (role) => {
    test.each(attacks)("to $name", (attack) => expectOutcome(record, role, attack));
  });
});

import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { type Authority, createAuthority } from "../certificates.ts";
import type { Scenario } from "../stand.ts";
import { startUsualWorld, type World } from "../world.ts";
import { withoutFailure } from "./operations.ts";

const filesIn = (place: string) => ({
  ca_file: join(place, "ca.pem"),
  cert_file: join(place, "client.pem"),
  key_file: join(place, "client.key"),
});

let files: ReturnType<typeof filesIn> | undefined;
let authority: Authority | undefined;

/** The tool speaks TLS, and knows the enforcement points by their certificate. */
export function startWorldOverTls(): Promise<World> {
  authority = createAuthority("the first authority");
  files = filesIn(mkdtempSync(join(tmpdir(), "svc-faults-tls-")));
  const { cert, key } = authority.issue();
  writeFileSync(files.ca_file, authority.cert);
  writeFileSync(files.cert_file, cert);
  writeFileSync(files.key_file, key);
  return startUsualWorld({ upstreamTls: { identity: { ...authority.issue(), ca: [authority.cert] }, files } });
}

/** As certificate managers do it: both ends trust old and new for a while, and each file is replaced by renaming. */
export const rotatedCertificates: Scenario = {
  name: "a tool's certificate, its authority and its clients' certificate replaced, one after the other",
  async inject(stand) {
    if (files === undefined || authority === undefined) throw new Error("this world's tool does not speak TLS");
    const { ca_file, cert_file, key_file } = files;
    const { upstream, enforcementPoints } = stand.world;
    const [old, next] = [authority, createAuthority("the next authority")];
    const client = next.issue();
    const steps: (() => Promise<void> | void)[] = [
      () => upstream.become({ ...old.issue(), ca: [old.cert] }),
      () => taken(enforcementPoints, { [ca_file]: old.cert + next.cert }),
      () => upstream.become({ ...next.issue(), ca: [old.cert, next.cert] }),
      () => taken(enforcementPoints, { [cert_file]: client.cert, [key_file]: client.key }),
      () => taken(enforcementPoints, { [ca_file]: next.cert }),
      () => upstream.become({ ...next.issue(), ca: [next.cert] }),
    ];
    await withoutFailure(stand, async () => {
      for (const step of steps) {
        await step();
        await stand.load.passes(20);
      }
    });
    return steps.length;
  },
};

/** Replaces files under the enforcement points, and waits until each has taken them up. */
async function taken(points: World["enforcementPoints"], contents: Readonly<Record<string, string>>): Promise<void> {
  const before = points.map(timesTaken);
  for (const [file, text] of Object.entries(contents)) {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  }
  await waitUntil("the enforcement points to take up the new files", () =>
    points.every((point, index) => timesTaken(point) > (before[index] ?? 0)),
  );
}

const timesTaken = ({ output }: World["enforcementPoints"][number]): number =>
  output().split('"configuration taken"').length;

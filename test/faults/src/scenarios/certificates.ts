import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { type OwnRedis, waitUntil } from "@svc/test-support";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { type Authority, createAuthority } from "../certificates.ts";
import { type Deployment, type DeploymentOptions, startUsualDeployment } from "../deployment.ts";
import type { Scenario } from "../stand.ts";
import { withoutFailure } from "./operations.ts";

const filesIn = (place: string) => ({
  ca_file: join(place, "ca.pem"),
  cert_file: join(place, "client.pem"),
  key_file: join(place, "client.key"),
});

let files: ReturnType<typeof filesIn> | undefined;
let serving: NonNullable<DeploymentOptions<OwnRedis>["controlPlaneTls"]> | undefined;
let authority: Authority | undefined;

/** The tool serves TLS, and knows the enforcement points by their certificate. */
export async function startDeploymentOverTls(): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "svc-faults-tls-"));
  authority = createAuthority("the first authority");
  files = filesIn(folder);
  const { cert, key } = authority.issue();
  writeFileSync(files.ca_file, authority.cert);
  writeFileSync(files.cert_file, cert);
  writeFileSync(files.key_file, key);
  const identity = { ...authority.issue(), ca: [authority.cert] };
  const deployment = await startUsualDeployment({ upstreamTls: { identity, files } });
  deployment.alsoStop(async () => rmSync(folder, { recursive: true }));
  return deployment;
}

/** So do the control planes, behind a balancer that forwards bytes. */
export async function startDeploymentOverControlPlaneTls(): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "svc-faults-tls-"));
  authority = createAuthority("the authority");
  serving = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key"), caFile: join(folder, "ca.crt") };
  const { cert, key } = authority.issue();
  writeFileSync(serving.certFile, cert);
  writeFileSync(serving.keyFile, key);
  writeFileSync(serving.caFile, authority.cert);
  const usual = getGlobalDispatcher();
  const trusting = new Agent({ connect: { ca: authority.cert } });
  setGlobalDispatcher(trusting);
  const deployment = await startUsualDeployment({ controlPlaneTls: serving });
  deployment.alsoStop(async () => {
    setGlobalDispatcher(usual);
    await trusting.destroy();
    rmSync(folder, { recursive: true });
  });
  return deployment;
}

export const renewedCertificates: Scenario = {
  name: "the control planes' certificate replaced",
  async inject(stand) {
    if (serving === undefined || authority === undefined)
      throw new Error("this deployment's control planes do not serve TLS");
    const { certFile, keyFile } = serving;
    const { issue } = authority;
    const times = 5;
    await withoutFailure(stand, async () => {
      for (let count = 0; count < times; count += 1) {
        const { cert, key } = issue();
        replace({ [certFile]: cert, [keyFile]: key });
        for (const { name, port } of stand.deployment.controlPlanes) {
          await waitUntil(
            `${name} to show the new certificate`,
            async () => (await shownAt(port)) === fingerprint(cert),
          );
        }
        await stand.load.passes(10);
      }
    });
    return times;
  },
};

const fingerprint = (cert: string): string => new X509Certificate(cert).fingerprint256;

async function shownAt(port: number): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().fingerprint256;
  } finally {
    socket.destroy();
  }
}

/** As certificate managers do it: both ends trust old and new for a while, and each file is replaced by renaming. */
export const rotatedCertificates: Scenario = {
  name: "a tool's certificate, its authority and its clients' certificate replaced, one after the other",
  async inject(stand) {
    if (files === undefined || authority === undefined) throw new Error("this deployment's tool does not serve TLS");
    const { ca_file, cert_file, key_file } = files;
    const { upstream, enforcementPoints } = stand.deployment;
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

/** Replaces the enforcement points' files, and waits until each has reloaded them. */
async function taken(
  points: Deployment["enforcementPoints"],
  contents: Readonly<Record<string, string>>,
): Promise<void> {
  const before = points.map(timesTaken);
  replace(contents);
  await waitUntil("the enforcement points to reload the new files", () =>
    points.every((point, index) => timesTaken(point) > (before[index] ?? 0)),
  );
}

function replace(contents: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(contents)) {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  }
}

const timesTaken = ({ output }: Deployment["enforcementPoints"][number]): number =>
  output().split('"configuration applied"').length;

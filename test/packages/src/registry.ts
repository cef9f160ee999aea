import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Manifest, manifestOf, type Packed, run, workspace } from "./pack.ts";

export interface Registry {
  readonly url: string;
  /** @throws the server's error: npm skips optional packages without a message. */
  close(): void;
}

/** An installable version, and how its tarball is made. */
interface Release {
  readonly manifest: Manifest;
  tarball(): Promise<string>;
}

/**
 * Serves to `npm install` our packed packages, and of others exactly what this workspace has installed: no network is
 * used, and an undeclared dependency is missing, as for any user. It implements the part of the registry's protocol
 * that an installation needs: the document of a package, and its tarballs.
 *
 * @param work folder for tarballs of installed packages, made on demand
 */
export async function startRegistry(packed: readonly Packed[], work: string): Promise<Registry> {
  const releases = releasesOf(packed, work);
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const [name = "", version] = path.split("/-/");
    const found = releases.get(name);
    if (found === undefined) return void response.writeHead(404).end("{}");
    if (version === undefined) return void response.end(JSON.stringify(documentOf(name, found, urlOf())));
    sendTarball(found.get(version), response).catch((cause: unknown) => {
      faults.push(cause);
      response.writeHead(500).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: urlOf(),
    close() {
      server.close();
      if (faults.length > 0) throw new AggregateError(faults, "the registry could not serve every package");
    },
  };
}

const documentOf = (name: string, found: ReadonlyMap<string, Release>, url: string) => ({
  name,
  "dist-tags": { latest: [...found.keys()].at(-1) },
  versions: Object.fromEntries(
    [...found].map(([version, { manifest }]) => [
      version,
      { ...manifest, dist: { tarball: `${url}/${encodeURIComponent(name)}/-/${version}` } },
    ]),
  ),
});

async function sendTarball(release: Release | undefined, response: ServerResponse): Promise<void> {
  if (release === undefined) response.writeHead(404).end();
  else response.end(await readFile(await release.tarball()));
}

/** By name, then by version. */
function releasesOf(packed: readonly Packed[], work: string): ReadonlyMap<string, ReadonlyMap<string, Release>> {
  const releases = new Map<string, Map<string, Release>>();
  const add = (release: Release): void => {
    const { name, version } = release.manifest;
    releases.set(name, (releases.get(name) ?? new Map()).set(version, release));
  };
  for (const folder of installedFolders()) {
    const manifest = manifestOf(folder);
    let made: Promise<string> | undefined;
    add({ manifest, tarball: () => (made ??= tarballOf(folder, manifest, work)) });
  }
  for (const { published, tarball } of packed) add({ manifest: published, tarball: async () => tarball });
  return releases;
}

/** The real folder of every other package: pnpm stores each once, its neighbours there are links. */
function installedFolders(): readonly string[] {
  const store = join(workspace, "node_modules/.pnpm");
  return readdirSync(store)
    .map((entry) => join(store, entry, "node_modules"))
    .flatMap((modules) => packagesIn(modules));
}

function packagesIn(modules: string): readonly string[] {
  if (statSync(modules, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(modules, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name.startsWith(".")) return [];
    const folder = join(modules, entry.name);
    return entry.name.startsWith("@") ? packagesIn(folder) : [folder];
  });
}

async function tarballOf(folder: string, { name, version }: Manifest, work: string): Promise<string> {
  const tarball = join(work, `${name.replaceAll(/[@/]/g, "-")}-${version}.tgz`);
  const compress = ["--use-compress-program", "gzip -1"];
  const layout = ["--exclude=./node_modules", "--hard-dereference", "--transform=flags=r;s,^\\.,package,"];
  await run("tar", ["-cf", tarball, ...compress, ...layout, "-C", folder, "."]).catch((fault: { stderr?: string }) => {
    // A file's link count may change, as every installation from pnpm's store does; its content stays.
    if (!/^(?:tar: .*: file changed as we read it\n)+$/.test(fault.stderr ?? "")) throw fault;
  });
  return tarball;
}

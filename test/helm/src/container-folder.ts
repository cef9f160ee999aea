import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { environmentOf, secretFilesOf } from "./pods.ts";
import type { KubernetesObject } from "./render.ts";
import type { Secrets } from "./secrets.ts";

export interface ContainerFolder {
  /** The container's environment, with paths on this machine. */
  readonly environment: Readonly<Record<string, string>>;
  /** A container file's path on this machine. */
  at(path: string): string;
  remove(): Promise<void>;
}

/** A container's mounted files, as a folder of this machine. */
export async function containerFolder(object: KubernetesObject, secrets: Secrets): Promise<ContainerFolder> {
  const folder = await mkdtemp(join(tmpdir(), "svc-container-"));
  const at = (path: string) => join(folder, path);
  for (const [path, { secret, key }] of secretFilesOf(object)) {
    const text = secrets[secret]?.[key];
    if (text === undefined) throw new Error(`there is no Secret ${secret} with ${key}`);
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), text);
  }
  const environment = Object.entries(environmentOf(object)).map(([name, value]) => [
    name,
    value.startsWith("/etc/svc/") ? at(value) : value,
  ]);
  return { environment: Object.fromEntries(environment), at, remove: () => rm(folder, { recursive: true }) };
}

/** The Secrets that the chart generates, in plain text. */
export const renderedSecrets = (objects: readonly KubernetesObject[]): Secrets =>
  Object.fromEntries(
    objects
      .filter(({ kind }) => kind === "Secret")
      .map(({ metadata, data }) => [
        metadata.name,
        Object.fromEntries(
          Object.entries(data as Record<string, string>).map(([key, text]) => [
            key,
            Buffer.from(text, "base64").toString("utf8"),
          ]),
        ),
      ]),
  );

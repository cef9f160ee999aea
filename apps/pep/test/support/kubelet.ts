import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Mounts files as the kubelet does, and replaces all of them at once: a new folder, and one rename of the link to it.
 *
 * @returns how to replace them
 */
export function mount(
  folder: string,
  files: Readonly<Record<string, string>>,
): (files: Readonly<Record<string, string>>) => void {
  mkdirSync(folder, { recursive: true });
  let version = 0;
  const replace = (files: Readonly<Record<string, string>>) => {
    version += 1;
    mkdirSync(join(folder, `..${version}`));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `..${version}`, name), text);
    symlinkSync(`..${version}`, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  replace(files);
  for (const name of Object.keys(files)) symlinkSync(join("..data", name), join(folder, name));
  return replace;
}

/**
 * Which files of an installed app are needed to run it. Left out: what the package manager keeps for itself, types and
 * source maps (nothing reads them at run time, and maps name sources that are not there), and what others ship for
 * those who change their package. Licences stay.
 */
export function isKept(path: string): boolean {
  if (isLicence(path)) return true;
  return !packageManagers.test(path) && !forReaders.test(path) && !(isOthers(path) && forTheirAuthors.test(path));
}

const isLicence = (path: string): boolean => /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i.test(path) && !isCode(path);

const isCode = (path: string): boolean => /\.([cm]?[jt]s|map)$/.test(path);

const packageManagers =
  /^(pnpm-lock\.yaml|pnpm-workspace\.yaml|node_modules\/\.[^/]+)($|\/)|(^|\/)node_modules\/\.bin\//;

const forReaders = /\.(map|[cm]?ts|tsx|tsbuildinfo|md|markdown|flow|coffee)$/i;

/** Our own packages list what they ship, and the examples of the command line are programs. */
const isOthers = (path: string): boolean => path.startsWith("node_modules/") && !path.startsWith("node_modules/@svc/");

const forTheirAuthors =
  /\/(tests?|__tests__|benchmarks?|examples?|\.github|\.vscode)\/|\/(\.[^/]*rc|\.[^/]*ignore|\.editorconfig|[^/]*\.(yml|html|png|test\.[cm]?js))$/;

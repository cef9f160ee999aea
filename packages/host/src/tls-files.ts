import { readFileSync } from "node:fs";
import type { Server } from "node:https";
import { type Watching, watchFiles } from "./watch-files.ts";

/** Paths of a certificate chain and its private key, in PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export const readTls = (files: TlsFiles) => ({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) });

export interface TlsReload {
  readonly onLoaded?: () => void;
  /** The changed files cannot be used; the certificate before keeps serving. */
  readonly onRefused: (error: unknown) => void;
}

/** Certificate and key change one after the other. */
const settleMs = 200;

/** Uses changed files for new connections. */
export function reloadTls(server: Server, files: TlsFiles, { onLoaded, onRefused }: TlsReload): Watching {
  let settling: NodeJS.Timeout | undefined;
  const reload = () => {
    try {
      server.setSecureContext(readTls(files));
    } catch (error) {
      return onRefused(error);
    }
    onLoaded?.();
  };
  const watching = watchFiles(
    () => [files.certFile, files.keyFile],
    () => {
      clearTimeout(settling);
      settling = setTimeout(reload, settleMs).unref();
    },
  );
  return {
    stop() {
      clearTimeout(settling);
      watching.stop();
    },
  };
}

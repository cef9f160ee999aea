import { compile } from "@svc/core";
import { Fault } from "../fault.ts";
import { readManifestFile } from "../manifest-file.ts";

/** Checks a file alone; only the control plane knows the other manifests of its scopes. */
export async function faultsOf(path: string): Promise<{ readonly agent?: string; readonly faults: readonly string[] }> {
  try {
    const { file, understood } = await readManifestFile(path);
    const faults = [...understood.scopes].flatMap(([scope, declared]) => {
      const compiled = compile(scope, [{ agent: file.agent, manifestVersion: 1, declared }]);
      return compiled.ok ? [] : [`scope ${scope}: too many delegation paths for a policy`];
    });
    return { agent: file.agent, faults };
  } catch (cause) {
    if (cause instanceof Fault && cause.exitCode === 1) return { faults: [cause.message] };
    throw cause;
  }
}

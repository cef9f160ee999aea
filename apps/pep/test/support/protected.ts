import { freePort } from "@svc/test-support";
import { enforcementToken, entryAgent } from "./control-plane-routes.ts";
import { type PepSetup, startedPep } from "./pep.ts";

/** An enforcement point whose upstreams OAuth clients log in to, at its own address as the public one. */
export async function startedProtectedPep({ settings = {}, ...setup }: PepSetup) {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const running = await startedPep({
    ...setup,
    settings: (folder) => ({
      SVC_PEP_LISTEN: `127.0.0.1:${port}`,
      SVC_PEP_PUBLIC_URL: publicUrl,
      SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken,
      ...(typeof settings === "function" ? settings(folder) : settings),
    }),
  });
  running.controlPlane.policies.set(entryAgent, {});
  const grant = async (name: string) => {
    const { handle, sessionId } = await running.controlPlane.grant(`${publicUrl}/${name}`);
    return { handle, sessionId, authorization: `Bearer ${handle}` };
  };
  return { ...running, publicUrl, grant };
}

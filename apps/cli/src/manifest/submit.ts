import type { AgentRegistration, ManifestPreview } from "@svc/client";
import type { DiffEntry } from "@svc/core";
import { absentBy, type ControlPlane } from "../control-plane.ts";
import type { ManifestFile } from "../manifest-file.ts";
import { versionOf } from "./in-force.ts";

/** A manifest file, with the text that is stored. */
export interface Submission extends ManifestFile {
  readonly manifestJson: string;
}

export type Submitted = { readonly kind: "accepted"; readonly registered: AgentRegistration } | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly code: string;
  readonly message: string;
  readonly diff: readonly DiffEntry[];
}

/** A further version of a known agent, else its first. @throws {Fault} for anything but a reconciliation that refuses */
export async function send(
  plane: ControlPlane,
  { agent, manifest, manifestJson, override }: Submission,
): Promise<Submitted> {
  const submission = { manifest, manifestJson, overrideReason: override && (override.reason ?? null) };
  const known = await plane.call("admin", ({ admin }) => admin.agentId(agent)).catch(absentBy("agent_not_found"));
  return plane.call("admin", async ({ admin }) => {
    try {
      const registered = await (known !== undefined
        ? admin.submitManifest({ agent, ...submission })
        : admin.registerAgent({ name: agent, ...submission }));
      return { kind: "accepted", registered };
    } catch (cause) {
      if (!isManifestRejected(cause)) throw cause;
      const { code, message, diff } = cause;
      return { kind: "refused", code, message, diff };
    }
  });
}

const isManifestRejected = (cause: unknown): cause is Error & Omit<Refusal, "kind"> =>
  cause instanceof Error && cause.name === "ManifestRejected";

export const preview = (plane: ControlPlane, { agent, manifest, manifestJson }: Submission): Promise<ManifestPreview> =>
  plane.call("admin", ({ admin }) => admin.previewManifest({ agent, manifest, manifestJson }));

interface InForce {
  readonly version: number;
  readonly status: string;
  readonly scopes: readonly string[];
}

/**
 * Whether a version of this very text is in force, and another would say the same: no source contradicts it, no tool's
 * definition changed, and none can now be read of what a person attested.
 */
export async function isInForce(plane: ControlPlane, submission: Submission, inForce: InForce): Promise<boolean> {
  const { docJson } = await versionOf(plane, submission.agent, inForce);
  if (docJson !== submission.manifestJson) return false;
  const { status, definitions } = await preview(plane, submission);
  const isRead = status === "reconciled" && inForce.status === "attested";
  return definitions.length === 0 && status !== "rejected" && !isRead;
}

import { describe, expect, test } from "vitest";
import { chartFolder, helm } from "./src/helm.ts";
import { objectOf, releaseName, render, renderArguments } from "./src/render.ts";
import { variants } from "./src/variants.ts";

const told = new Map<string, Promise<string>>();

/** Helm's notes after an install with these values. */
function notesOf(variant: string): Promise<string> {
  const notes = told.get(variant) ?? notesBy(variant);
  told.set(variant, notes);
  return notes;
}

async function notesBy(variant: string): Promise<string> {
  const { kubeVersion: _, apis: __, ...rendering } = variants[variant] ?? {};
  const args = ["install", releaseName, chartFolder, "--dry-run=client", ...renderArguments(rendering)];
  const { stdout, stderr, code } = await helm(args, { KUBECONFIG: "/nowhere" });
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  return stdout.slice(stdout.indexOf("\nNOTES:\n"));
}

describe.each(["defaults", "staging", "production", "without the injector", "everything"])(
  "%s: the notes",
  (variant) => {
    test("are complete, and start with the command that tests the release", async () => {
      const notes = await notesOf(variant);
      expect(notes).not.toMatch(/<no value>|%!|\{\{ /);
      expect(notes).toContain(`helm test ${releaseName} --namespace svc-system`);
    });
  },
);

test("name existing Secrets and keys", async () => {
  const objects = await render();
  const notes = await notesOf("defaults");
  expect(notes).toContain(`kubectl get secret ${objectOf(objects, "Secret", "control-plane-tls").metadata.name} `);
  const [, name, key] = /kubectl get secret (svc-\S+) .*index \.data "([^"]+)".* > telemetry-key/.exec(notes) ?? [];
  const [secrets] = objectOf(objects, "Deployment", "control-plane").spec.template.spec.volumes;
  expect(name).toBe(secrets.secret.secretName);
  expect(secrets.secret.items).toContainEqual({ key, path: "SVC_TELEMETRY_KEY" });
});

test.each([
  ["defaults", "Only agents can reach the control plane"],
  ["defaults", "PostgreSQL must admit 140 connections"],
  ["defaults", "Agents can go around their enforcement points"],
  ["defaults", "To renew one, delete its Secret"],
  ["staging", "Nothing is blocked"],
  ["staging", "kubectl create secret generic svc-session --namespace AGENTS --from-file=session.json"],
  ["everything", "PostgreSQL must admit 140 connections"],
])("the notes of %s say: %s", async (variant, text) => {
  expect((await notesOf(variant)).replaceAll(/\s+/g, " ")).toContain(text);
});

test.each([
  ["production", "Only agents"],
  ["production", "observeScopes"],
  ["production", "go around"],
  ["production", "Certificates were generated"],
  ["without the injector", "pep.svc/inject"],
])("the notes of %s do not mention %s", async (variant, text) => {
  expect(await notesOf(variant)).not.toContain(text);
});

import { describe, expect, test } from "vitest";
import { readConfig as readInjectorConfig } from "../../apps/injector/src/config.ts";
import type { Pod } from "../../apps/injector/src/pod.ts";
import { review } from "../../apps/injector/src/review.ts";
import { aPod, creation, patched } from "../../apps/injector/test/pods.ts";
import { readConfig as readPepConfig } from "../../apps/pep/src/start/config.ts";
import { environmentOf } from "./src/pods.ts";
import { type KubernetesObject, objectOf, render } from "./src/render.ts";
import { typeFaults, validate } from "./src/typed-objects.ts";
import { variants } from "./src/variants.ts";

/** An agent's pod after this variant's injector. */
async function injected(variant: string): Promise<KubernetesObject> {
  const read = readInjectorConfig(environmentOf(objectOf(await render(variants[variant]), "Deployment", "injector")));
  if (!read.ok) throw new Error(read.faults.join("\n"));
  return patched(aPod(), review(creation(aPod()), read.config.injection, "strict")) as Pod & KubernetesObject;
}

const withInjector = ["defaults", "staging", "production", "own certificates", "OpenShift", "everything"];

describe.each(withInjector)("%s: an injected pod", (variant) => {
  test("is valid for Kubernetes, in every field", async () => {
    const pod = await injected(variant);
    await validate(pod);
    expect(await typeFaults([pod])).toEqual([]);
  });

  test("has an enforcement point that accepts its settings", async () => {
    const { spec } = await injected(variant);
    const sidecar = [...spec.initContainers, ...spec.containers].find(({ name }) => name === "svc-pep");
    const environment = Object.fromEntries(
      sidecar.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    const inFiles = ["SVC_TELEMETRY_KEY", "SVC_PEP_ENFORCEMENT_TOKEN"].filter((name) => environment[`${name}_FILE`]);
    const values = inFiles.flatMap((name): [string, string | undefined][] => [
      [`${name}_FILE`, undefined],
      [name, "secret"],
    ]);
    const read = readPepConfig({ ...environment, ...Object.fromEntries(values) });
    expect(read).toMatchObject({ ok: true, warnings: [] });
    expect(environment.SVC_CONTROL_PLANE_CA_FILE).toBe("/etc/svc-pep/secret/ca.crt");
  });
});

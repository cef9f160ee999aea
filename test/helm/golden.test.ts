import { expect, test } from "vitest";
import { stringify } from "yaml";
import { objectOf, render } from "./src/render.ts";
import { variants } from "./src/variants.ts";

/* What a reader of a change should see of it at a glance: `vitest run --project helm golden -u` writes it anew. */

const nameOf = ({ kind, metadata }: { kind: string; metadata: { name: string; namespace?: string } }) =>
  `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

test("which objects each variant makes", async () => {
  const made = Object.entries(variants).map(async ([name, variant]) => [
    name,
    (await render(variant)).map(nameOf).sort(),
  ]);
  await expect(stringify(Object.fromEntries(await Promise.all(made)))).toMatchFileSnapshot("golden/objects.yaml");
});

test("the control plane of production", async () => {
  const deployment = objectOf(await render(variants.production), "Deployment", "control-plane");
  await expect(stringify(deployment.spec)).toMatchFileSnapshot("golden/control-plane.yaml");
});

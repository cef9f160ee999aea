/** Loaded before the main module of an app: gives the app the budgets of `patience`, and keeps its compiled code. */
import { writeCompiledSoon } from "./compiled.ts";
import { patience } from "./patience.ts";

async function replace(file: string, name: string, values: Readonly<Record<string, number>>): Promise<void> {
  const module = await import(new URL(`../../../apps/${file}`, import.meta.url).href);
  const unknown = Object.keys(values).filter((key) => !(key in module[name]));
  if (unknown.length > 0) throw new Error(`${name} of apps/${file} has no ${unknown.join(", ")}`);
  Object.assign(module[name], values, overridden(Object.keys(values)));
}

const overrides: Record<string, number> = JSON.parse(process.env.TEST_BUDGETS ?? "{}");
const overridden = (names: readonly string[]) =>
  Object.fromEntries(Object.entries(overrides).filter(([name]) => names.includes(name)));

await replace("control-plane/dist/budgets.js", "budgets", patience.controlPlane);
writeCompiledSoon();
await replace("pep/dist/limits.js", "defaultLimits", patience.enforcementPoint);

import { z } from "zod";
import { declaredScopes } from "./manifest.ts";
import { manifestCreate } from "./wire/admin.ts";

const options = { io: "input", target: "draft-7", unrepresentable: "any" } as const;

/** The JSON Schema of a manifest file before defaults are filled in, for editors. It cannot state every rule. */
export function manifestSchema(): object {
  const { $schema: _, ...scopes } = z.toJSONSchema(declaredScopes, options);
  // Without its name in the API, under which it would be a definition.
  return z.toJSONSchema(z.strictObject(manifestCreate.shape), {
    ...options,
    override({ jsonSchema, path }) {
      // The pipe checks the whole first, which no schema can state.
      if (path.at(-1) === "scopes") Object.assign(jsonSchema, scopes);
    },
  });
}

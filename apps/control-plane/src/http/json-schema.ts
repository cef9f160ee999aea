import { z } from "zod";

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Record<string, unknown>;

const componentPrefix = "#/components/schemas/";

/**
 * The schema of what travels, with each named part (`.meta({ id })`) as a reference to a component; the parts are
 * handed to `define`.
 */
export function toJsonSchema(schema: z.ZodType, define: (name: string, part: JsonSchema) => void): JsonSchema {
  const { $schema: _dialect, $defs = {}, ...whole } = generate(schema);
  for (const [name, part] of Object.entries($defs)) define(name, pointAtComponents(part) as JsonSchema);
  const { id, ...body } = pointAtComponents(whole) as JsonSchema;
  if (typeof id !== "string") return body;
  define(id, body);
  return { $ref: `${componentPrefix}${id}` };
}

const generate = (schema: z.ZodType): z.core.JSONSchema.BaseSchema =>
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // A guard in front of a schema says nothing about the shape; the schema behind it does.
      if (def.type === "pipe" && isGuard(def)) Object.assign(jsonSchema, withoutDialect(generate(def.out)));
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });

const isGuard = (def: z.core.$ZodTypeDef): def is z.core.$ZodPipeDef<z.ZodCustom, z.ZodType> =>
  "in" in def && def.in instanceof z.ZodCustom;

const withoutDialect = ({ $schema: _dialect, ...schema }: z.core.JSONSchema.BaseSchema) => schema;

/** `#/$defs/X` to `#/components/schemas/X`, everywhere. */
const pointAtComponents = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${componentPrefix}`));

import type { z } from "zod";

/** Bodies between their wire spelling (`snake_case`) and the one of the code (`camelCase`). */

export type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

export const camelCase = <Name extends string>(name: Name) =>
  name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>;

export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `T` with every member in `camelCase`. The keys of a record are data and stay. */
export type CamelCased<T> = T extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : T extends ReadonlyMap<unknown, unknown> | ((...args: never) => unknown)
    ? T
    : T extends object
      ? string extends keyof T
        ? T
        : { readonly [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> }
      : T;

/** A body or query as its schema read it, in `camelCase`. */
export const fromWire = <Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) =>
  respelled(schema, value, "camel") as CamelCased<z.output<Schema>>;

/** A value in wire spelling: exactly the members that the schema names. */
export const toWire = <Schema extends z.ZodType>(schema: Schema, value: CamelCased<z.input<Schema>>) =>
  respelled(schema, value, "snake") as z.input<Schema>;

type Spelling = "snake" | "camel";
type AnySchema = z.core.$ZodTypes;

function respelled(schema: z.core.$ZodType, value: unknown, to: Spelling): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { def } = (schema as AnySchema)._zod;
  switch (def.type) {
    case "object":
      return membersRespelled(schema, value as Readonly<Record<string, unknown>>, to);
    case "array":
      return (value as readonly unknown[]).map((item) => respelled(def.element, item, to));
    case "nullable":
    case "optional":
    case "default":
    case "readonly":
      return respelled(def.innerType, value, to);
    case "union": {
      const option = def.options.find((each) => hasLiteralsOf(each, value as Readonly<Record<string, unknown>>));
      return option === undefined ? value : respelled(option, value, to);
    }
    default:
      return value;
  }
}

function membersRespelled(schema: z.core.$ZodType, value: Readonly<Record<string, unknown>>, to: Spelling) {
  const result: Record<string, unknown> = {};
  for (const { snake, camel, member } of membersOf(schema)) {
    const given = value[to === "camel" ? snake : camel];
    if (given !== undefined) result[to === "camel" ? camel : snake] = respelled(member, given, to);
  }
  return result;
}

/** Whether this is the option of a union that the value's discriminator names. */
function hasLiteralsOf(option: z.core.$ZodType, value: Readonly<Record<string, unknown>>): boolean {
  return membersOf(option).every(({ camel, member }) => {
    const { def } = (member as AnySchema)._zod;
    return def.type !== "literal" || def.values.includes(value[camel] as z.core.util.Literal);
  });
}

interface Member {
  readonly snake: string;
  readonly camel: string;
  readonly member: z.core.$ZodType;
}

const known = new WeakMap<z.core.$ZodType, readonly Member[]>();

function membersOf(schema: z.core.$ZodType): readonly Member[] {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const { def } = (schema as AnySchema)._zod;
  const members = Object.entries(def.type === "object" ? def.shape : {}).map(([snake, member]) => ({
    snake,
    camel: camelCase(snake),
    member,
  }));
  known.set(schema, members);
  return members;
}

/** What is read of a JSON Schema. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The members of one object, for a heading and a table of their own. */
interface Section {
  readonly title: string;
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  readonly value: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** Objects within a schema, outermost first. A list's item is `[]`, a member of any name `.NAME`. */
export function sectionsOf(schema: Schema, path: string): readonly Section[] {
  const { properties, additionalProperties } = schema;
  const own = properties === undefined ? [] : [{ title: path + kindOf(schema), members: membersOf(schema) }];
  const below = [
    ...Object.entries(properties ?? {}).flatMap(([name, member]) => sectionsOf(member, joined(path, name))),
    ...(typeof additionalProperties === "object" ? sectionsOf(additionalProperties, joined(path, "NAME")) : []),
    ...itemsOf(schema).flatMap((item) => sectionsOf(item, `${path}[]`)),
    ...variantsOf(schema).flatMap((variant) => sectionsOf(variant, path)),
  ];
  return [...own, ...below];
}

const joined = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

const itemsOf = ({ items = [] }: Schema): readonly Schema[] => ("length" in items ? items : [items as Schema]);

/** Where one value and a list of such values are allowed, the list alone. */
function variantsOf({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] {
  const variants = [...anyOf, ...oneOf];
  const listed = new Set(variants.flatMap(itemsOf).map((item) => JSON.stringify(item)));
  return variants.filter((variant) => !listed.has(JSON.stringify(variant)));
}

/** What tells the object from its alternatives. */
function kindOf({ properties = {} }: Schema): string {
  const fixed = Object.entries(properties).filter(([, member]) => member.const !== undefined);
  const [first] = fixed.filter(([name]) => name !== "absent");
  return first === undefined ? "" : `, ${first[0]}: ${first[1].const}`;
}

const membersOf = ({ properties = {}, required = [] }: Schema): readonly Member[] =>
  Object.entries(properties).map(([name, member]) => ({
    name,
    value: valueText(member),
    fallback: required.includes(name) ? "required" : member.default === undefined ? "" : codeOf(member.default),
    meaning: member.description ?? "",
  }));

const codeOf = (value: unknown): string => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

const words: Readonly<Record<string, string>> = { string: "text", boolean: "true or false", null: "null" };

function valueText(schema: Schema): string {
  if (schema.const !== undefined) return codeOf(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(codeOf).join(", ");
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (variants.length > 0) return [...new Set(variants.map(valueText))].join(" or ");
  if (schema.type === "array") return `list of ${[...new Set(itemsOf(schema).map(valueText))].join(", ") || "values"}`;
  if (schema.type === "integer" || schema.type === "number") return numberOf(schema);
  const types = [schema.type ?? "object"].flat();
  return types.map((type) => words[type] ?? type).join(", ");
}

const numberOf = ({ minimum, maximum }: Schema): string => {
  if (minimum === undefined) return "number";
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `number from ${minimum}`
    : `number, ${minimum} to ${maximum}`;
};

/** A page of tables. An object that is described already is named instead. */
export function schemaPage(title: string, intro: string, schema: Schema): string {
  const known = new Map<string, string>();
  const repeated: string[] = [];
  const sections = sectionsOf(schema, "").flatMap(({ title: heading, members }) => {
    const table = tableOf(members);
    const before = known.get(table);
    // What is below an object that is described already is described too.
    if (before === heading || repeated.some((other) => heading.startsWith(other))) return [];
    if (before === undefined) known.set(table, heading);
    else repeated.push(heading);
    const content = before === undefined ? table : `As \`${before}\`.`;
    return `## ${heading === "" ? "The file" : `\`${heading}\``}\n\n${content}\n`;
  });
  return `# ${title}\n\n${intro}\n\n${sections.join("\n")}`;
}

function tableOf(members: readonly Member[]): string {
  const rows = [
    ["member", "value", "default", "meaning"],
    ...members.map(({ name, value, fallback, meaning }) => [`\`${name}\``, value, fallback, meaning]),
  ].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = [0, 1, 2, 3].map((at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

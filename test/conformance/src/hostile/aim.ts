import type { Tokens } from "../api.ts";
import type { Operation } from "../document.ts";
import { type Attack, type BearerChoice, type BodyChoice, percentEncoded } from "./attacks.ts";
import type { Base } from "./bases.ts";
import type { WireRequest } from "./wire-request.ts";

/** The attack on this operation, as sent. */
export function aim(operation: Operation, base: Base, attack: Attack, tokens: Tokens): WireRequest {
  const { method, bodyType } = operation;
  return {
    method,
    target: targetOf(operation, base, attack),
    headers: {
      ...authorizationOf(base.bearer ?? planeBearer(operation, tokens), attack.bearer, tokens),
      ...(bodyType !== undefined && { "content-type": attack.contentType ?? bodyType }),
    },
    body: bodyType === undefined ? undefined : bodyOf(bodyType, base.body ?? {}, attack.body),
  };
}

const planeBearer = ({ scheme }: Operation, tokens: Tokens): string | undefined =>
  scheme === undefined ? undefined : tokens[scheme as keyof Tokens];

/** The valid request. */
export const wellMeant = (operation: Operation, base: Base, tokens: Tokens): WireRequest =>
  aim(operation, base, noAttack, tokens);

const noAttack: Attack = {
  base: 0,
  segment: undefined,
  query: [],
  bearer: "right",
  contentType: undefined,
  body: { kind: "kept", at: 0 },
};

function targetOf({ path, query }: Operation, { params, ...base }: Base, attack: Attack): string {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
  const { segment } = attack;
  const attacked = segment === undefined ? undefined : names[segment.at % Math.max(1, names.length)];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === attacked && segment !== undefined ? segment.text : percentEncoded(params[name] ?? ""),
  );
  const meant = Object.entries(base.query ?? {}).map(([name, value]) => `${name}=${percentEncoded(value)}`);
  const attacking = attack.query.map(({ at, value }) => {
    const name = at === "unknown" ? undefined : query[at % Math.max(1, query.length)];
    return `${name ?? "no_such_parameter"}=${value}`;
  });
  const pairs = [...meant, ...attacking];
  return pairs.length === 0 ? filled : `${filled}?${pairs.join("&")}`;
}

function authorizationOf(right: string | undefined, choice: BearerChoice, tokens: Tokens): WireRequest["headers"] {
  if (typeof choice === "object") return { authorization: `Bearer ${choice.text}` };
  if (choice === "none" || (choice === "right" && right === undefined)) return {};
  if (choice === "twice") return { authorization: [`Bearer ${right}`, `Bearer ${tokens.admin}`] };
  return { authorization: `Bearer ${choice === "right" ? right : tokens[choice]}` };
}

function bodyOf(bodyType: string, members: Base["body"] & object, choice: BodyChoice): string {
  if (choice.kind === "raw") return choice.text;
  return bodyType === "application/x-www-form-urlencoded" ? formOf(members, choice) : jsonOf(members, choice);
}

type Members = Readonly<Record<string, unknown>>;
type Change = Exclude<BodyChoice, { kind: "raw" }>;
type Path = readonly (string | number)[];

/** Placeholder for JSON text, replaced after the surrounding document is serialized. */
const sentinel = "\u0001here\u0001";

function jsonOf(members: Members, choice: Change): string {
  if (choice.kind === "kept") return JSON.stringify(members);
  if (choice.kind === "added") return spliced({ ...members, [choice.name]: sentinel }, choice.json);
  const places = placesOf(members);
  const place = places[choice.at % Math.max(1, places.length)];
  if (place === undefined) return "{}";
  if (choice.kind === "replaced")
    return spliced(
      withChange(members, place, () => sentinel),
      choice.json,
    );
  if (choice.kind === "removed") return JSON.stringify(withChange(members, place, () => undefined));
  const [first = ""] = Object.entries(members)[choice.at % Object.keys(members).length] ?? [];
  const twice = `${JSON.stringify(first)}:${JSON.stringify(members[first])}`;
  return `{${twice},${JSON.stringify(members).slice(1)}`;
}

const spliced = (value: unknown, json: string): string =>
  // As a function, since a replacement string would interpret dollar signs.
  JSON.stringify(value).replace(JSON.stringify(sentinel), () => json);

/** Every member and element, at any depth. */
function placesOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [[...path, name], ...placesOf(inner, [...path, name])]);
}

function withChange(value: unknown, [name, ...rest]: Path, change: (old: unknown) => unknown): unknown {
  const old = (value as Record<string | number, unknown>)[name ?? ""];
  const changed = rest.length === 0 ? change(old) : withChange(old, rest, change);
  return Array.isArray(value) ? value.with(Number(name), changed) : { ...(value as Members), [name ?? ""]: changed };
}

function formOf(members: Members, choice: Change): string {
  const fields = Object.entries(members).map(([name, value]) => [name, String(value)] as const);
  const at = "at" in choice ? choice.at % fields.length : -1;
  const changed = fields.flatMap(([name, value], n): (readonly [string, string])[] => {
    if (n !== at || choice.kind === "kept") return [[name, value]];
    if (choice.kind === "removed") return [];
    return choice.kind === "repeated"
      ? [
          [name, value],
          [name, value],
        ]
      : [[name, textOf(choice)]];
  });
  const added = choice.kind === "added" ? [[choice.name, textOf(choice)] as const] : [];
  return [...changed, ...added].map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`).join("&");
}

/** The value of a JSON string, else the JSON itself. */
function textOf(choice: Change): string {
  if (!("json" in choice)) return "";
  return choice.json.startsWith('"') ? (JSON.parse(choice.json) as string) : choice.json;
}

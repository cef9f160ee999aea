/** Conditions of a rule, as in the upstreams file. */
export type When = Readonly<Record<string, object>>;

/** What an agent of this kind is given: by its honest tasks and the nature of its tools. */
export interface Suite {
  /** Of the agent and its upstream. */
  readonly name: string;
  /** Whose tasks are replayed. */
  readonly tasks: string;
  /** Tools that only read of the person and the service itself. */
  readonly own: readonly string[];
  /** Tools that return what others wrote. */
  readonly foreign: readonly string[];
  /**
   * Tools that change or send something; the rules describe calls that are harmless also after foreign text was read.
   */
  readonly writes: Readonly<Record<string, readonly When[]>>;
  /** Tools whose rules the first replay showed to let an injection pass. */
  readonly exploited: readonly string[];
  /** What a person can consent to beside the everyday scope: any call of these tools, also after foreign text. */
  readonly consents: Readonly<Record<string, readonly string[]>>;
  /** Values for expressions that the tasks compute. */
  readonly values: Readonly<Record<string, unknown>>;
}

export const everyday = "everyday";

const withRulesOf = (suite: Suite, name: string, isKept: (tool: string) => boolean): Suite => ({
  ...suite,
  name: `${suite.name}-${name}`,
  writes: Object.fromEntries(Object.entries(suite.writes).map(([tool, rules]) => [tool, isKept(tool) ? rules : []])),
});

/** The same agent without rules: each tool has one class, and a write none after foreign text. */
export const withoutRules = (suite: Suite): Suite => withRulesOf(suite, "plain", () => false);

/** The same agent without the rules that an injection used. */
export const withoutExploited = (suite: Suite): Suite =>
  withRulesOf(suite, "mended", (tool) => !suite.exploited.includes(tool));

const readClass = "reads";
const classOf = (tool: string, kind: "known" | "any"): string => `${tool}.${kind}`;

export const refOf = ({ name }: Suite, tool: string): string => `mcp:${name}/${tool}`;

/** The upstream's `tools`: a write has the class `known` where a rule holds, else `any`. */
export function toolsOf(suite: Suite): object {
  const reads = [...suite.own, ...foreignReads(suite)].map((tool) => [tool, readClass]);
  const rules = Object.entries(suite.writes).map(([tool, whens]) => {
    const classify = whens.map((when) => ({ when, data_class: classOf(tool, "known") }));
    const otherwise = classOf(tool, "any");
    return [tool, whens.length === 0 ? otherwise : { classify, data_class: otherwise }];
  });
  return Object.fromEntries([...reads, ...rules]);
}

/** Those that send nothing. */
const foreignReads = ({ foreign, writes }: Suite): readonly string[] =>
  foreign.filter((tool) => !Object.hasOwn(writes, tool));

/**
 * The manifest: in the everyday scope a write is granted for its known class whatever was read before, and one without
 * rules as long as nothing foreign was read. A consent widens its tools.
 */
export function manifestOf(suite: Suite): object {
  const scopes = [[everyday, []] as const, ...Object.entries(suite.consents)];
  return {
    scopes: Object.fromEntries(scopes.map(([scope, widened]) => [scopeOf(suite, scope), scopeBody(suite, widened)])),
  };
}

export const scopeOf = ({ name }: Suite, scope: string): string => `${name} ${scope}`;

/** All that the agent may do in a scope, space-separated. */
export function delegatedClasses(suite: Suite, scope: string): string {
  const { tools } = scopeBody(suite, suite.consents[scope] ?? []);
  return [...new Set(tools.flatMap(({ data_classes }) => data_classes))].join(" ");
}

function scopeBody(suite: Suite, widened: readonly string[]) {
  const read = (tool: string, result_taint: string) => ({
    ...{ ref: refOf(suite, tool), data_classes: [readClass], access: "read", accepts_taint: true },
    result_taint,
  });
  const write = ([tool, rules]: readonly [string, readonly When[]]) => {
    const isWide = widened.includes(tool) || rules.length === 0;
    return {
      ...{ ref: refOf(suite, tool), access: "write" },
      data_classes: isWide ? [classOf(tool, "known"), classOf(tool, "any")] : [classOf(tool, "known")],
      accepts_taint: widened.includes(tool) || rules.length > 0,
      result_taint: suite.foreign.includes(tool) ? "untrusted_external" : "trusted_internal",
    };
  };
  const reads = [
    ...suite.own.map((tool) => read(tool, "trusted_internal")),
    ...foreignReads(suite).map((tool) => read(tool, "untrusted_external")),
  ];
  return { hop_budget: 2, tools: [...reads, ...Object.entries(suite.writes).map(write)] };
}

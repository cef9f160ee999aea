import { datasource } from "./panel.ts";

/** What a dashboard can be narrowed to: places by the labels of the scrape, and modes of enforcement points. */
export type Narrowing = "cluster" | "namespace" | "instance" | "mode";

/** Where the console is by default: a control plane on this machine. */
const consoleByDefault = "http://127.0.0.1:8080/console";

/** Grafana's variables. @param narrowing in this order: each offers what the ones before leave */
export const variablesOf = (source: string, narrowing: readonly Narrowing[]) => [
  { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", current: {} },
  ...narrowing.map((name, index) => labelVariable(name, seriesWithin(source, narrowing.slice(0, index)))),
  {
    name: "console",
    label: "Console",
    type: "textbox",
    query: consoleByDefault,
    current: { text: consoleByDefault, value: consoleByDefault },
  },
];

const seriesWithin = (source: string, before: readonly Narrowing[]): string =>
  before.length === 0 ? source : `${source}{${before.map((name) => `${name}=~"$${name}"`).join(", ")}}`;

function labelVariable(name: Narrowing, series: string) {
  const query = `label_values(${series}, ${name})`;
  return {
    name,
    label: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    type: "query",
    datasource,
    definition: query,
    query: { query, refId: name },
    includeAll: true,
    multi: true,
    allValue: ".*",
    current: { text: "All", value: "$__all" },
    // On a change of the span: an instance that is gone leaves the list.
    refresh: 2,
    sort: 1,
  };
}

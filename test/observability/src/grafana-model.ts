/** Of Grafana's JSON model what the shipped dashboards use. */
export interface GrafanaPanel {
  readonly id: number;
  readonly type: "row" | "stat" | "timeseries" | "table" | "text";
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly noValue: string;
      readonly links: readonly { readonly url: string }[];
      readonly thresholds: { readonly steps: readonly { readonly color: string; readonly value: number | null }[] };
      readonly custom: { readonly stacking?: object };
    };
    readonly overrides: readonly {
      readonly matcher: { readonly options: string };
      readonly properties: readonly { readonly value: { readonly fixedColor: string } }[];
    }[];
  };
  readonly options?: { readonly content?: string; readonly legend?: { readonly calcs: readonly string[] } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

export interface GrafanaDashboard {
  readonly uid: string;
  readonly title: string;
  readonly links: readonly { readonly title: string; readonly url: string }[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
  readonly panels: readonly GrafanaPanel[];
}

/** The query as Grafana sends it. @param chosen values of variables; `All` for the others */
export const withVariables = (expr: string, chosen: Readonly<Record<string, string>> = {}): string =>
  expr.replaceAll(/\$(cluster|namespace|instance|mode)\b/g, (_, name: string) => chosen[name] ?? ".*");

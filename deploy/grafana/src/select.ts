/** Grafana's variables of places; `All` is `.*`, which matches a missing label too. */
const selected = 'cluster=~"$cluster", namespace=~"$namespace", instance=~"$instance"';

/** The series of the selected places. @param matchers further ones, as `outcome="deny"` */
export const select = (name: string, matchers?: string): string =>
  `${name}{${matchers === undefined ? selected : `${matchers}, ${selected}`}}`;

/** Of these series those of enforcement points in the selected modes. */
export const inMode = (vector: string): string =>
  `(${vector} and on (cluster, namespace, instance) ${select("svc_pep_info", 'mode=~"$mode"')})`;

/** A quantile of recorded buckets, by the labels `by` too. Nothing where nothing was measured, which would be NaN. */
export const quantile = (q: number, buckets: string, by: readonly string[] = []): string =>
  `histogram_quantile(${q}, sum by (${[...by, "le"].join(", ")}) (${buckets})) >= 0`;

/** Nothing where the divisor is 0. */
export const share = (part: string, whole: string): string => `sum(${part}) / (sum(${whole}) > 0)`;

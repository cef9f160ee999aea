type Iso<Ms> = Ms extends null ? null : string;

/** Facts with each time `xMs` as `x` in ISO 8601. */
type WithTimes<Facts> = {
  readonly [Name in keyof Facts as Name extends `${infer Time}Ms` ? Time : Name]: Name extends `${string}Ms`
    ? Iso<Facts[Name]>
    : Facts[Name];
};

export function withTimes<Facts extends object>(facts: Facts): WithTimes<Facts> {
  const told = Object.entries(facts).map(([name, value]) =>
    name.endsWith("Ms") ? [name.slice(0, -2), value === null ? null : iso(value)] : [name, value],
  );
  return Object.fromEntries(told);
}

/** Epoch milliseconds as ISO 8601, UTC. */
export const iso = (ms: number): string => new Date(ms).toISOString();

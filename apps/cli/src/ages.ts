const units = [
  ["d", 86_400, 172_800],
  ["h", 3_600, 7_200],
  ["m", 60, 120],
] as const;

const spanOf = (seconds: number): string => {
  for (const [unit, size, from] of units) if (seconds >= from) return `${Math.floor(seconds / size)}${unit}`;
  return `${Math.max(0, Math.floor(seconds))}s`;
};

/** How long ago, as `kubectl` prints it: `90s`, `12m`, `5h`, `3d`; `in 9m` for a time to come. */
export function ageOf(instant: string, nowMs = Date.now()): string {
  const seconds = (nowMs - Date.parse(instant)) / 1_000;
  return seconds <= -1 ? `in ${spanOf(-seconds)}` : spanOf(seconds);
}

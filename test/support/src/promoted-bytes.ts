import { GCProfiler } from "node:v8";

type Heap = ReturnType<GCProfiler["stop"]>["statistics"][number]["afterGC"];
const oldBytes = ({ heapSpaceStatistics }: Heap): number =>
  heapSpaceStatistics.find(({ spaceName }) => spaceName === "old_space")?.spaceUsedSize ?? Number.NaN;

/** What of this process's objects outlived two minor collections meanwhile, alive or kept by what is dead. */
export async function promotedBytes(work: () => unknown): Promise<number> {
  const profiler = new GCProfiler();
  profiler.start();
  await work();
  return profiler
    .stop()
    .statistics.filter(({ gcType }) => gcType === "Scavenge")
    .reduce((bytes, { beforeGC, afterGC }) => bytes + oldBytes(afterGC) - oldBytes(beforeGC), 0);
}

import { GCProfiler } from "node:v8";

type Heap = ReturnType<GCProfiler["stop"]>["statistics"][number]["afterGC"];
const oldBytes = ({ heapSpaceStatistics }: Heap): number =>
  heapSpaceStatistics.find(({ spaceName }) => spaceName === "old_space")?.spaceUsedSize ?? Number.NaN;

/**
 * What of the objects that `work` makes outlived two minor collections, alive or kept by what is dead.
 * Runs it twice: the first run's collections promote what the process had before.
 */
export async function promotedBytes(work: () => unknown): Promise<number> {
  await work();
  const profiler = new GCProfiler();
  profiler.start();
  await work();
  return profiler
    .stop()
    .statistics.filter(({ gcType }) => gcType === "Scavenge")
    .reduce((bytes, { beforeGC, afterGC }) => bytes + oldBytes(afterGC) - oldBytes(beforeGC), 0);
}

import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks of the kernel's accounting: USER_HZ is 100 on every Linux that Node runs on (proc(5)). */
export const ticksPerSecond = 100;

/** Ticks of work and of time of the whole machine, over all cores. */
export interface MachineTicks {
  readonly worked: number;
  readonly passed: number;
}

/**
 * The first line of /proc/stat. Interrupts are left out of the work: the kernel assigns those of our own traffic to no
 * process, so they would count as others' work. Stolen time counts.
 */
export function parseMachine(stat: string): MachineTicks {
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = stat
    .slice(0, stat.indexOf("\n"))
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const worked = user + nice + system + steal;
  return { worked, passed: worked + idle + wait + irq + softirq };
}

export interface ProcessTicks {
  readonly pid: number;
  readonly parent: number;
  /** Its own ticks, and those of its children that have exited. */
  readonly worked: number;
}

/** /proc/PID/stat; the name is in brackets and may contain anything. */
export function parseProcess(stat: string): ProcessTicks {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { pid: Number.parseInt(stat, 10), parent: field(4), worked: field(14) + field(15) + field(16) + field(17) };
}

export const readMachine = (): MachineTicks => parseMachine(readFileSync("/proc/stat", "utf8"));

export function readProcesses(): readonly ProcessTicks[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [parseProcess(readFileSync(`/proc/${pid}/stat`, "utf8"))];
      } catch {
        return []; // It exited meanwhile.
      }
    });
}

/** Ticks of the given processes and all their descendants. */
export function ticksOfTrees(processes: readonly ProcessTicks[], roots: readonly number[]): number {
  const children = new Map<number, ProcessTicks[]>();
  for (const process of processes) {
    const siblings = children.get(process.parent);
    if (siblings) siblings.push(process);
    else children.set(process.parent, [process]);
  }
  const seen = new Set<number>();
  const total = (process: ProcessTicks): number => {
    if (seen.has(process.pid)) return 0;
    seen.add(process.pid);
    return (children.get(process.pid) ?? []).reduce((sum, child) => sum + total(child), process.worked);
  };
  return processes.filter(({ pid }) => roots.includes(pid)).reduce((sum, root) => sum + total(root), 0);
}

/** Bytes of memory in use by one process, and its peak (VmRSS and VmHWM of /proc/PID/status). */
export function memoryOf(pid: number): { readonly bytes: number; readonly peakBytes: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN);
  return { bytes: kibibytes("VmRSS") * 1024, peakBytes: kibibytes("VmHWM") * 1024 };
}

import { readFileSync } from 'node:fs';

/** Linux counts processor time in ticks of 10 ms. */
const ticksPerSecond = 100;

/** Seconds of processor time that a process has used, from /proc; 0 on systems without it. */
export function readCpuSeconds(pid: number): number {
  try {
    // The second field is the program's name in parentheses, and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  } catch {
    return 0;
  }
}

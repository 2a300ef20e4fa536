/**
 * How many milliseconds of a core this thread spends on `work`: what other processes of the machine take does not
 * count.
 */
export function processorMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

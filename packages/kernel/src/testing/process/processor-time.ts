/**
 * The CPU time in ms that this thread spends on `work`, excluding other processes.
 */
export function processorMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The CPU time in ms that this thread spends on `work`, excluding other processes.
 */
export function processorMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Measures how long this thread's event loop is blocked, in CPU time, because other processes share the machine.
 * @returns a function that ends the measurement and returns the CPU time, in ms, of the longest iteration
 */
export function watchEventLoop(): () => number {
  let [longestMs, before] = [0, process.threadCpuUsage()];
  const measure = () => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    before = process.threadCpuUsage();
  };
  const watch = setInterval(measure, 1);
  return () => {
    clearInterval(watch);
    measure();
    return longestMs;
  };
}

// Loaded into a service's process before its program (`node --import`): measures its event loop and memory for the test
// process that started it, over their IPC channel.
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The measurements of a service's process since the previous ones. */
export interface ProbeReading {
  /** The duration of the longest iteration of the event loop, at most its thread's CPU time in that period. */
  readonly blockedMs: number;
  /** As measured by `monitorEventLoopDelay`, which includes time given to other processes. */
  readonly delayP99Ms: number;
  readonly rssMaxBytes: number;
  readonly rssBytes: number;
}

const everyMs = 5;
const usPerMs = 1000;
const nsPerMs = 1e6;

if (process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: everyMs });
  delay.enable();
  let [blockedMs, rssMaxBytes] = [0, 0];
  let [lookedAtMs, computedMs] = [performance.now(), threadMs()];
  const timer = setInterval(() => {
    const [nowMs, nowComputedMs] = [performance.now(), threadMs()];
    // A process that waits for a core is late although it hasn't done any work.
    blockedMs = Math.max(blockedMs, Math.min(nowMs - lookedAtMs, nowComputedMs - computedMs));
    [lookedAtMs, computedMs] = [nowMs, nowComputedMs];
    rssMaxBytes = Math.max(rssMaxBytes, process.memoryUsage.rss());
  }, everyMs);
  timer.unref();
  process.on('message', (message) => {
    if (message !== 'measure') return;
    const rssBytes = process.memoryUsage.rss();
    const reading: ProbeReading = {
      blockedMs,
      delayP99Ms: delay.percentile(99) / nsPerMs,
      rssMaxBytes: Math.max(rssMaxBytes, rssBytes),
      rssBytes,
    };
    delay.reset();
    [blockedMs, rssMaxBytes] = [0, rssBytes];
    process.send?.(reading);
  });
  process.channel?.unref();
  // A test process that is killed can't stop its service, so the service stops itself.
  process.on('disconnect', () => process.exit());
}

/** The CPU time of this thread, without garbage collection in the background and other threads. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / usPerMs;
}

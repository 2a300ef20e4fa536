import type { Logger } from '@baton/kernel/process/log';
import { openLogSink } from './log-sink.ts';
import { openNatsSink } from './nats-sink.ts';
import type { Sink } from './sink.ts';
import { readSinkFile, type SinkTarget } from './sink-file.ts';
import { openWebhookSink } from './webhook-sink.ts';

export interface Sinks {
  /** The sinks to deliver to. */
  readonly open: readonly Sink[];
  /** Names of removed sinks: their undelivered events are discarded. */
  readonly discarded: readonly string[];
}

const timeoutSecondsDefault = 10;
const concurrencyDefault = { log: 100, webhook: 64, nats: 256 };

/**
 * Opens the sinks of CP_SINKS_FILE, without connecting yet.
 * @param path empty for no file
 * @param timeoutMsMax the maximum delivery timeout, even if the file specifies a longer one
 * @throws Error with a one-sentence message
 */
export async function openSinks(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  { log, timeoutMsMax }: { log: Logger; timeoutMsMax: number },
): Promise<Sinks> {
  const targets = path === '' ? [] : await readSinkFile(path, env);
  return {
    open: targets.flatMap((target) => (target.type === 'discard' ? [] : [open(target)])),
    discarded: targets.filter(({ type }) => type === 'discard').map(({ name }) => name),
  };

  function open(target: Exclude<SinkTarget, { type: 'discard' }>): Sink {
    const common = {
      name: target.name,
      filter: target.filter,
      concurrency: target.concurrency ?? concurrencyDefault[target.type],
      timeoutMs: Math.min((target.timeoutSeconds ?? timeoutSecondsDefault) * 1000, timeoutMsMax),
    };
    if (target.type === 'log') return openLogSink(common, log);
    if (target.type === 'webhook') return openWebhookSink({ ...target, ...common, url: new URL(target.url) });
    return openNatsSink({ ...target, ...common });
  }
}

import { createLog, type Logger } from '@baton/kernel/process/log';
import { type ContextAdapter, runContextAdapter } from '../../memory/adapter/adapter.ts';
import { openHealthPort } from '../health/health-port.ts';
import type { Measures } from '../health/measures.ts';
import { readCoordinationSettings } from '../settings.ts';
import { openStore } from '../store.ts';

export interface ContextAdapterProcess {
  /** The port for monitoring; undefined if none was opened. */
  readonly port: number | undefined;
  /** Waits at most 5 s for deliveries in progress, and closes the pool. */
  close(): Promise<void>;
}

/**
 * Starts the delivery to the memory service; nothing else depends on it. `/health/ready` also reports whether the
 * memory service responds, which does not affect the process's readiness. See docs/reference/memory.md#context-adapter.
 * @param options.env the documented settings (CP_*)
 * @param options.isWatched whether CP_CONTEXT_ADAPTER_METRICS_PORT is opened
 * @param options.measures the process's metrics, if its parts share them
 * @throws Error with one sentence for invalid settings
 */
export async function startContextAdapter(options: {
  env: Readonly<Record<string, string | undefined>>;
  isWatched: boolean;
  log?: Logger;
  measures?: Measures;
}): Promise<ContextAdapterProcess> {
  const settings = readCoordinationSettings(options.env);
  const log = options.log ?? createLog({ name: 'context-adapter', level: settings.CP_LOG_LEVEL });
  const { pool, health } = await openStore(settings, log, 'baton-context-adapter', options.measures);
  let adapter: ContextAdapter | undefined;
  const watched = await openHealthPort({
    health: {
      exposition: () => health.exposition(),
      async readiness() {
        const [readiness, isAlive] = await Promise.all([health.readiness(), adapter?.memoryIsAlive()]);
        return { ...readiness, memory: memoryWord(isAlive) };
      },
    },
    settings,
    port: options.isWatched ? settings.CP_CONTEXT_ADAPTER_METRICS_PORT : 0,
    setting: 'CP_CONTEXT_ADAPTER_METRICS_PORT',
  }).catch(async (error: unknown) => {
    await pool.close();
    throw error;
  });
  adapter = runContextAdapter({ pool, settings, log });
  const { CP_CONTEXT_PROVIDER: provider } = settings;
  log.info({ provider, port: watched?.port }, 'the context adapter is running');
  return {
    port: watched?.port,
    async close() {
      await adapter.close();
      await watched?.close();
      await pool.close();
    },
  };
}

function memoryWord(isAlive: boolean | undefined): 'off' | 'alive' | 'unreachable' {
  if (isAlive === undefined) return 'off';
  return isAlive ? 'alive' : 'unreachable';
}

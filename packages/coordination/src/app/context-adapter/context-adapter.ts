import { createLog, type Logger } from '@baton/kernel/process/log';
import { type ContextAdapter, runContextAdapter } from '../../memory/adapter/adapter.ts';
import { openHealthPort } from '../health/health-port.ts';
import type { Measures } from '../health/measures.ts';
import { readCoordinationSettings } from '../settings.ts';
import { openStore } from '../store.ts';

export interface ContextAdapterProcess {
  /** Where it is watched; undefined where no port was opened. */
  readonly port: number | undefined;
  /** Ends the turns under way, which may take 5 s, and closes the pool. */
  close(): Promise<void>;
}

/**
 * Starts the delivery to the memory service (organisation, section 20); nothing else depends on it. `/health/ready` also
 * says whether the memory service answers, which does not make the process unready.
 * @param options.env the documented settings (CP_*)
 * @param options.isWatched whether CP_CONTEXT_ADAPTER_METRICS_PORT is opened
 * @param options.measures what the process counts, where its parts share it
 * @throws Error with one sentence for settings that can't be used
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
  log.info({ provider, port: watched?.port }, 'the context adapter runs');
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

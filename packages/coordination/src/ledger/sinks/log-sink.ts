import type { Logger } from '@baton/kernel/process/log';
import type { Sink } from './sink.ts';

/** Logs one line per event: its type and object, never the payload. */
export function openLogSink(
  common: Pick<Sink, 'name' | 'filter' | 'concurrency' | 'timeoutMs'>,
  log: Logger,
): Sink {
  return {
    ...common,
    async deliver({ id, type, tenantId, entityType, entityId, actorId, occurredAt }) {
      const event = { id, type, tenantId, entityType, entityId, actorId, occurredAt };
      log.info({ sink: common.name, event }, 'event');
    },
    close: () => Promise.resolve(),
  };
}

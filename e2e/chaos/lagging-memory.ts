import { setTimeout as sleep } from 'node:timers/promises';
import { whitelist } from '@baton/coordination/memory/adapter/whitelist';
import { startMemoryService } from '@baton/coordination/testing/memory/memory-service';
import { Deliveries } from './deliveries.ts';

/**
 * The memory service that the context adapter delivers to: slow, and sometimes unavailable. Archive and prune wait for
 * it.
 */
export interface LaggingMemory {
  readonly url: string;
  /** The distinct events of a tenant that the service received. */
  deliveriesOf(tenantId: string): Deliveries;
  /** Makes it respond without a delay from now on. */
  catchUp(): void;
  close(): Promise<void>;
}

const upTo = (ms: number) => Math.random() * ms;

export async function startLaggingMemory(): Promise<LaggingMemory> {
  const memory = await startMemoryService();
  const known: Deliveries[] = [];
  let [isLagging, isOpen] = [true, true];
  const behaving = (async () => {
    while (isOpen) {
      behave();
      await sleep(100);
    }
  })();
  const taking = (async () => {
    while (isOpen) {
      take();
      await sleep(200);
    }
  })();
  return {
    url: memory.url,
    deliveriesOf(tenantId) {
      const wants = ({ type }: { type: string }) => Object.hasOwn(whitelist, type);
      const deliveries = new Deliveries('lagging memory service', tenantId, { wants });
      known.push(deliveries);
      return deliveries;
    },
    catchUp() {
      isLagging = false;
    },
    async close() {
      isOpen = false;
      await Promise.all([behaving, taking]);
      await memory.close();
    },
  };

  function behave(): void {
    const chance = isLagging ? Math.random() : 1;
    if (chance < 0.05) memory.behave({ hangsUp: true });
    else if (chance < 0.1) memory.behave({ answer: { status: 503 } });
    else memory.behave(isLagging ? { delayMs: upTo(1500) } : {});
  }

  function take(): void {
    for (const deliveries of known) {
      const ids = memory.keptIds(`tenant:${deliveries.tenantId}`);
      for (const id of ids.slice(deliveries.count)) deliveries.take(id);
    }
  }
}

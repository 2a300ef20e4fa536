import { type RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import { foundTenant } from '../../app/bootstrap/found-tenant.ts';
import { readCoordinationSettings } from '../../app/settings.ts';
import { insertMissingConsumers, leaseDueTurns } from '../../memory/adapter/adapter-turns.sql.ts';
import { consumer, deliverTurn, type TurnReport } from '../../memory/adapter/delivery.ts';
import { openMemory } from '../../memory/gateway/memory.ts';
import type { Tables } from '../../service/schema.ts';
import type { TestCoordination } from '../coordination.ts';
import { journalIsStable, writeEvents } from '../ledger/journal-writer.ts';
import type { TestMemory } from './memory-service.ts';

export type ConsumerRow = RowOf<Tables['event_consumers']>;

export const namespaceOf = (tenantId: string) => `tenant:${tenantId}`;

/** The settings of an adapter that delivers to a memory service of the tests. */
export function adapterEnv(
  baton: Pick<TestCoordination, 'env'>,
  memory: Pick<TestMemory, 'url'>,
  more: Record<string, string> = {},
): Record<string, string> {
  return { ...baton.env, CP_CONTEXT_PROVIDER: 'http', CP_CONTEXT_BASE_URL: memory.url, ...more };
}

/** Runs one turn of each due tenant, without the loop of a process. */
export function startDelivery(
  baton: TestCoordination,
  memory: TestMemory,
  more: Record<string, string> = {},
) {
  const settings = readCoordinationSettings(adapterEnv(baton, memory, more));
  const tools = { pool: baton.pool, memory: openMemory(settings, 'run_test'), settings };
  return {
    async turns(signal = new AbortController().signal): Promise<Map<string, TurnReport>> {
      await journalIsStable(baton.pool);
      await baton.pool.run(insertMissingConsumers(consumer, 1000));
      const due = await baton.pool.rows(
        leaseDueTurns({ consumer, tenantsMax: 100, failingMax: 100, leaseSeconds: 60 }),
      );
      const reports = await Promise.all(
        due.map(
          async (turn) => [turn.tenant_id, await deliverTurn(tools, turn, signal, () => false)] as const,
        ),
      );
      return new Map(reports);
    },
  };
}

export async function consumerOf(baton: TestCoordination, tenantId: string): Promise<ConsumerRow> {
  const row = await baton.pool.row<ConsumerRow>(
    sql`select * from event_consumers where tenant_id = ${tenantId} and consumer = 'context-adapter'`,
  );
  if (row === undefined) throw new Error('the tenant has no cursor');
  return row;
}

/** A new tenant with an empty journal, except for the events of its creation. */
export async function newTenant(baton: TestCoordination): Promise<string> {
  const slug = `t-${newId()}`;
  const founded = await foundTenant(baton.pool, {
    tenantSlug: slug,
    tenantName: slug,
    adminDisplayName: 'Administrator',
  });
  return founded.tenantId;
}

/**
 * Events of a delivered type, in this order, with events that aren't delivered between them.
 * @returns the ids of the delivered ones
 */
export async function writeDeliverable(
  baton: TestCoordination,
  tenantId: string,
  count: number,
): Promise<string[]> {
  const told = Array.from({ length: count }, (_, n) => ({
    id: newId(),
    type: 'capability.created',
    entity_type: 'capability',
    payload: { name: `skill ${n}` },
  }));
  await writeEvents(
    baton.pool,
    tenantId,
    told.flatMap((draft) => [draft, {}]),
  );
  return told.map(({ id }) => id);
}

export const quietLog = createLog({
  name: 'context-adapter',
  level: 'fatal',
  destination: { write: () => undefined },
});

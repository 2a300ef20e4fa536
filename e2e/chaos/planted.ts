import { setTimeout as sleep } from 'node:timers/promises';
import type { Ending } from './consumers.ts';
import type { Deliveries } from './deliveries.ts';
import { findVisibleAfter, findVisibleAfterSequence } from './journal-table.sql.ts';
import type { World } from './world.ts';

/** Readers with a known fault, for the tests of the checker, which must detect each of them. */

type Faulty = { world: World; deliveries: Deliveries; ending: Ending };

/** Reads the table in the journal's order, without the horizon: it skips events that are committed late. */
export async function readWithoutHorizon({ world, deliveries, ending }: Faulty): Promise<void> {
  let from = { position: 0, sequence: 0 };
  await poll(ending, async () => {
    const rows = await world.pool.rows(findVisibleAfter(deliveries.tenantId, from.position, from.sequence));
    for (const { id } of rows) deliveries.take(id);
    from = rows.at(-1) ?? from;
    return rows.length;
  });
}

/**
 * Reads the table by sequence alone: it skips events that are committed late, and its order differs from the journal's.
 */
export async function readBySequence({ world, deliveries, ending }: Faulty): Promise<void> {
  let sequence = 0;
  await poll(ending, async () => {
    const rows = await world.pool.rows(findVisibleAfterSequence(deliveries.tenantId, sequence));
    for (const { id } of rows) deliveries.take(id);
    sequence = rows.at(-1)?.sequence ?? sequence;
    return rows.length;
  });
}

async function poll(ending: Ending, read: () => Promise<number>): Promise<void> {
  while (!ending.isOver) {
    const wasWritten = ending.isWritten;
    const count = await read().catch(() => 1);
    if (wasWritten && count === 0) return;
    await sleep(10);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { EventDraft } from '../../ledger/event-draft.ts';
import { insertEvents } from '../../ledger/journal/journal.sql.ts';

/** Journal rows as the service writes them, without a change of state. */
export async function writeEvents(
  db: Db,
  tenantId: string,
  drafts: readonly Partial<EventDraft>[],
): Promise<string[]> {
  const whole = drafts.map((draft) => ({
    id: newId(),
    type: 'session.opened',
    schema_version: 1,
    entity_type: 'session',
    entity_id: newId(),
    workspace_id: null,
    actor_id: null,
    iam_actor_id: null,
    session_id: null,
    correlation_id: 'test',
    causation_id: null,
    request_id: 'test',
    trace_run_id: 'test',
    payload: {},
    ...draft,
  }));
  await db.run(insertEvents(tenantId, whole, true));
  return whole.map(({ id }) => id);
}

/** Longer than any transaction in another test file; only a failing test reaches this timeout. */
export const journalWaitMsMax = 120_000;

/**
 * Waits until every committed event is visible. Transactions in other databases of the cluster can delay this.
 * @throws Error with the oldest transaction of the cluster when that takes too long
 */
export async function journalIsStable(db: Db): Promise<void> {
  const heldBack = () =>
    db.row<{ held: boolean }>(
      sql`select exists (select from events where position >= (select journal_horizon())) as held`,
    );
  for (const deadline = performance.now() + journalWaitMsMax; (await heldBack())?.held; await sleep(10))
    if (performance.now() > deadline)
      throw new Error(
        `events remain hidden after ${journalWaitMsMax} ms, held back by ${JSON.stringify(await db.row(oldestTransaction))}`,
      );
}

/** The oldest transaction in any database of the cluster, since each holds back the horizon of all. */
const oldestTransaction = sql<object>`
  select datname, application_name, backend_type, state, now() - xact_start as age, left(query, 200) as query
  from pg_stat_activity where backend_xid is not null order by age(backend_xid) desc limit 1`;

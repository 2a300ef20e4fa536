import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { EventDraft } from '../ledger/event-draft.ts';
import { insertEvents } from '../ledger/journal/journal.sql.ts';

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

/** Waits until every committed event is visible: other databases of the cluster have transactions too. */
export async function journalIsStable(db: Db): Promise<void> {
  const heldBack = () =>
    db.row<{ held: boolean }>(
      sql`select exists (select from events where position >= (select journal_horizon())) as held`,
    );
  while ((await heldBack())?.held) await new Promise((done) => setTimeout(done, 10));
}

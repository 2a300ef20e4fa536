import { queryBuilder } from '@baton/kernel/database/db';
import type { ListOrder } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import { type SeenList, seenByPlace } from '../../../service/sight/places.ts';
import type { InstanceRow, JournalRow, Recorded } from '../instance.ts';

/** An instance to replay, without its state. */
export type ReplayedRow = Pick<
  InstanceRow,
  'id' | 'workspace_id' | 'instance_key' | 'definition_key' | 'definition_version' | 'status' | 'started_at'
>;

const build = queryBuilder<{ process_instances: InstanceRow }>();

const newestFirst: ListOrder<ReplayedRow> = {
  cursor: 'process-replays',
  columns: { started_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/** The newest instances of a definition. */
export function listOfReplayed(tenantId: string, definitionKey: string): SeenList<ReplayedRow> {
  const foundIn = (source: 'process_instances') =>
    build
      .selectFrom(source)
      .select([
        'id',
        'workspace_id',
        'instance_key',
        'definition_key',
        'definition_version',
        'status',
        'started_at',
      ])
      .where('tenant_id', '=', tenantId)
      .where('definition_key', '=', definitionKey);
  return seenByPlace(tenantId, 'process_instances', foundIn, newestFirst);
}

/**
 * The visible instances of the definition with these ids.
 * @param viewerId null for callers who see everything
 */
export function findReplayed(
  tenantId: string,
  definitionKey: string,
  ids: readonly string[],
  viewerId: string | null,
) {
  return sql<ReplayedRow>`
    select id, workspace_id, instance_key, definition_key, definition_version, status, started_at from process_instances
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and definition_key = ${definitionKey}
      and (${viewerId}::uuid is null or workspace_id is null or sees_workspace(${viewerId}::uuid, workspace_id))
    order by started_at desc, id desc`;
}

export type RecordedLine = Pick<JournalRow, 'seq' | 'kind' | 'element' | 'reason' | 'data'> & {
  readonly input: Recorded | null;
};

/** The journal of an instance in order, cut after the first lines that reach this many characters. */
export function findRecordedLines(
  tenantId: string,
  instanceId: string,
  linesMax: number,
  charactersMax: number,
) {
  return sql<RecordedLine>`
    select seq, kind, element, reason, data, input from (
      select seq, kind, element, reason, data, input,
        sum(length(data::text) + coalesce(length(input::text), 0)) over (order by seq) as characters
      from (
        select seq, kind, element, reason, data, input from process_instance_journal
        where instance_id = ${instanceId} and tenant_id = ${tenantId}
        order by seq limit ${linesMax}
      ) as first
    ) as counted
    where characters <= ${charactersMax}
    order by seq`;
}

/** The last line of an instance's journal. */
export function findLastLine(tenantId: string, instanceId: string) {
  return sql<{ journal_seq: number }>`
    select journal_seq from process_instances where id = ${instanceId} and tenant_id = ${tenantId}`;
}

/** Whether an instance has processed an event that a person doesn't see, or that is no longer in the journal. */
export function hasTakenUnseen(tenantId: string, instanceId: string, viewerId: string) {
  return sql<{ has: boolean }>`
    select exists (
      select from process_instance_journal j
      where j.instance_id = ${instanceId} and j.tenant_id = ${tenantId} and j.input #>> '{taken,event,id}' is not null
        and not exists (
          select from events e
          where e.tenant_id = ${tenantId} and e.entity_id = (j.input #>> '{taken,event,entityId}')::uuid
            and e.id = (j.input #>> '{taken,event,id}')::uuid
            and (e.workspace_id is null or sees_workspace(${viewerId}::uuid, e.workspace_id))
        )
    ) as has`;
}

export function findState(tenantId: string, instanceId: string) {
  return sql<Pick<InstanceRow, 'state'>>`
    select state from process_instances where id = ${instanceId} and tenant_id = ${tenantId}`;
}

import { newId } from '@baton/values/ids';
import type { TestCoordination } from '../coordination.ts';
import { eventsOf } from '../leases.ts';

/** A snapshot of a source: two entities and a relation. */
export function snapshotOf(workspaceId: string, more: object = {}) {
  const entities = [
    { kind: 'service', key: 'service:billing', tier: 1 },
    { kind: 'team', key: 'team:money' },
  ];
  const observedAt = '2026-03-02T10:00:00+01:00';
  const head = { workspaceId, source: 'cluster-a', snapshotId: newId(), observedAt };
  return { ...head, entities, relations: [{ kind: 'owns' }], ...more };
}

export const documentOf = (workspaceId: string, more: object = {}) => ({
  workspaceId,
  naturalKey: 'wiki/billing',
  title: 'Billing',
  chunks: [{ text: 'At night.', heading: 'When', order: 1 }],
  ...more,
});

/** A snapshot of about the given number of MiB, of entities with long texts. */
export function largeSnapshotOf(workspaceId: string, mebibytes: number, more: object = {}) {
  const entities = Array.from({ length: mebibytes * 16 }, (_, n) => ({
    kind: 'file',
    key: `file:${n}`,
    text: 'x'.repeat(64_000),
  }));
  return snapshotOf(workspaceId, { entities, ...more });
}

/** The knowledge events of a workspace, by type and payload. */
export async function knowledgeEvents(baton: TestCoordination, workspaceId: string) {
  return (await eventsOf(baton, workspaceId)).filter(({ type }) => type.startsWith('knowledge.'));
}

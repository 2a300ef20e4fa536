import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';

const eventsMax = 5;

/** Shows the concurrent changes and their authors after a version conflict. */
export function Conflict({ task }: { task: Task }) {
  const { data } = useQuery({
    queryKey: ['tasks', 'events', 'last', task.id, task.version],
    queryFn: ({ signal }) =>
      baton.events
        .list({ entityId: task.id, tail: eventsMax, order: 'desc' }, { signal })
        .then(
          ({ items }) => items.find(({ payload }) => payload['version'] === task.version) ?? items[0] ?? null,
        ),
  });
  return (
    <p role="alert">
      {data ? (
        <>
          {data.actorId === null ? 'Baton' : <Who id={data.actorId} />} changed this task (
          {describeChange(data.payload)}) <Moment at={data.occurredAt} />.
        </>
      ) : (
        'Somebody changed this task in the meantime.'
      )}{' '}
      Your change was not saved. Review the current version and try again.
    </p>
  );
}

const wordsMax = 200;

function describeChange({ changes, status }: Record<string, unknown>): string {
  if (typeof changes === 'object' && changes !== null)
    return Object.entries(changes)
      .map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', ')
      .slice(0, wordsMax);
  return typeof status === 'string' ? `status: ${status}` : 'see below';
}

import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';

const eventsMax = 5;

/** Says who changed what, after a change that lost a race. */
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
          {data.actorId === null ? 'Baton' : <Who id={data.actorId} />} changed this task meanwhile (
          {whatIn(data.payload)}), <Moment at={data.occurredAt} />.
        </>
      ) : (
        'Somebody changed this task meanwhile.'
      )}{' '}
      You see it as it is now; your change was not made. Try again if it still holds.
    </p>
  );
}

const wordsMax = 200;

function whatIn({ changes, status }: Record<string, unknown>): string {
  if (typeof changes === 'object' && changes !== null)
    return Object.entries(changes)
      .map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', ')
      .slice(0, wordsMax);
  return typeof status === 'string' ? `status: ${status}` : 'see below';
}

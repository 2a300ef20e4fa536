import { useQuery } from '@tanstack/react-query';
import type { JournalEvent } from '@baton/sdk';
import { ErrorNote } from '../parts/Notes.tsx';
import { Diagram } from '../processes/Diagram.tsx';
import { definitionQuery } from '../processes/definition-query.ts';
import { stagesOf } from '../processes/steps.ts';

/** The state of a process instance after these events. */
export function ProcessAtEvent({ events }: { events: readonly JournalEvent[] }) {
  const { definitionKey, version } = events.at(-1)?.payload ?? {};
  const { data, error, refetch } = useQuery(definitionQuery(String(definitionKey), Number(version)));
  if (data === undefined && error === null) return null;
  return (
    <section className="card stack" aria-labelledby="progress">
      <h2 id="progress">Progress</h2>
      {data === undefined ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : (
        <Diagram stages={stagesOf(data, undefined, events)} />
      )}
    </section>
  );
}

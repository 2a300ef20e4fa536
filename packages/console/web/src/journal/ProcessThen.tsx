import { useQuery } from '@tanstack/react-query';
import type { JournalEvent } from '@baton/sdk';
import { Diagram } from '../processes/Diagram.tsx';
import { definitionQuery } from '../processes/definition-query.ts';
import { stagesOf } from '../processes/steps.ts';

/** Where an instance of a process stood after these events. */
export function ProcessThen({ events }: { events: readonly JournalEvent[] }) {
  const { definitionKey, version } = events.at(-1)?.payload ?? {};
  const { data } = useQuery(definitionQuery(String(definitionKey), Number(version)));
  if (data === undefined) return null;
  return (
    <section className="card stack" aria-labelledby="stood">
      <h2 id="stood">Where it stood</h2>
      <Diagram stages={stagesOf(data, undefined, events)} />
    </section>
  );
}

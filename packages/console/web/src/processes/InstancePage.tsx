import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { JournalEvent, ProcessInstance } from '@baton/sdk';
import { baton } from '../client.ts';
import { EventLine } from '../journal/EventLine.tsx';
import journal from '../journal/journal.module.css';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery, taskQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Acts } from './Acts.tsx';
import { classOf, Diagram } from './Diagram.tsx';
import { definitionQuery } from './definition-query.ts';
import styles from './processes.module.css';
import { type Stage, stagesOf } from './steps.ts';

const route = getRouteApi('/shell/processes/$id');
/** The size of a journal page. The newest events determine the state of each step. */
const stepEventsMax = 200;
const shownMax = 50;

/** A process instance: its progress, pending steps, data and events. */
export function InstancePage() {
  const { id } = route.useParams();
  const instance = useQuery({
    queryKey: ['processes', 'one', id],
    queryFn: ({ signal }) => baton.processInstances.get(id, { signal }),
  });
  const { definitionKey: key = '', definitionVersion: version = 0 } = instance.data ?? {};
  const definition = useQuery({ ...definitionQuery(key, version), enabled: instance.isSuccess });
  const mayReadEvents = useQuery(meQuery).data?.permissions.includes('events.read') ?? false;
  const newestOf = (types: string | undefined, limit: number) => ({
    queryKey: ['processes', 'events', id, types],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      baton.events
        .list({ entityId: id, tail: limit, limit, order: 'desc', ...(types && { types }) }, { signal })
        .then(({ items }) => items),
    enabled: mayReadEvents,
  });
  const events = useQuery(newestOf(undefined, shownMax));
  const ofSteps = useQuery(newestOf('process.step_', stepEventsMax));
  useTitle(instance.data?.instanceKey);
  if (instance.isError)
    return (
      <div className="page">
        <ErrorNote error={instance.error} onRetry={() => void instance.refetch()} />
        <Link to="/processes">Back to processes</Link>
      </div>
    );
  if (instance.isPending)
    return (
      <div className="page">
        <Loading lines={6} />
      </div>
    );
  const { instanceKey, status, outcome, suspension, startedAt, data, slaState } = instance.data;
  const stages = definition.data ? stagesOf(definition.data, instance.data, ofSteps.data?.toReversed()) : [];
  return (
    <article className="page">
      <header className="stack">
        <p className="row soft">
          <Link to="/processes">Processes</Link> <span>{definition.data?.displayName ?? key}</span>{' '}
          <span>version {version}</span>
        </p>
        <h1 className="text">{instanceKey}</h1>
        <p className="row">
          <span className={styles[classOf(status)] ?? ''}>
            {status}
            {outcome !== null && `: ${outcome}`}
          </span>
          {slaState === 'breached' && <span className={styles.late}>late</span>}
          <span className="soft">
            started <Moment at={startedAt} />
          </span>
        </p>
        {suspension !== null && (
          <p className={`card text ${styles.suspension}`} role="note">
            Suspended{suspension.element !== null && ` at ${suspension.element}`}: {suspension.reason}{' '}
            <span className="mono soft">{suspension.code}</span>
          </p>
        )}
        {status === 'suspended' && suspension === null && <SuspendedBy events={events.data ?? []} />}
        <Acts instance={instance.data} />
      </header>
      {definition.isError && <ErrorNote error={definition.error} />}
      {stages.length > 0 && (
        <section className="card stack" aria-labelledby="progress">
          <h2 id="progress">Progress</h2>
          <Diagram stages={stages} />
          <Steps stages={stages} instance={instance.data} />
        </section>
      )}
      <section className="card stack" aria-labelledby="data">
        <h2 id="data">Data</h2>
        <Values of={data} />
      </section>
      <section className="card stack" aria-labelledby="events">
        <h2 id="events">Events</h2>
        {events.isError && <ErrorNote error={events.error} />}
        {!mayReadEvents && (
          <p className="soft">
            Events require the permission <code className="mono">events.read</code>.
          </p>
        )}
        <ol className={journal.plain}>
          {events.data?.map((event) => (
            <EventLine key={event.id} event={event} within={id} />
          ))}
        </ol>
        {events.data?.length === shownMax && (
          <Link to="/journal" search={{ object: id }}>
            All events
          </Link>
        )}
      </section>
    </article>
  );
}

/** The principal that suspended the instance, and the reason. */
function SuspendedBy({ events }: { events: readonly JournalEvent[] }) {
  const event = events.find(({ type }) => type === 'process.suspended');
  if (event === undefined || typeof event.payload['reason'] !== 'string') return null;
  return (
    <p className={`card text ${styles.suspension}`} role="note">
      <Who id={event.actorId} nobody="Baton" /> suspended it: {event.payload['reason']}{' '}
      <span className="soft">
        <Moment at={event.occurredAt} />
      </span>
    </p>
  );
}

/** The diagram as text, with the tasks and approvals of open steps. */
function Steps({ stages, instance }: { stages: readonly Stage[]; instance: ProcessInstance }) {
  return (
    <ol className={styles.stages}>
      {stages.map(({ id, state, steps }) => (
        <li key={id}>
          <h3>
            {id} <span className="soft">{state}</span>
          </h3>
          <ol className={styles.steps}>
            {steps.map((step) => {
              const open = instance.openElements.find((element) => element.id === step.id);
              return (
                <li key={step.id}>
                  {step.id} <span className="soft">{step.kind}</span>{' '}
                  <span className={styles[classOf(step.state)] ?? ''}>{step.state}</span>
                  {step.taskId !== undefined && <OfTask id={step.taskId} />}
                  {open !== undefined && open.approvalIds.length > 0 && (
                    <span className="soft">
                      {' '}
                      pending <Decisions ids={open.approvalIds} />
                    </span>
                  )}
                </li>
              );
            })}
          </ol>
        </li>
      ))}
    </ol>
  );
}

/** Links to the pending approvals of a step. */
function Decisions({ ids }: { readonly ids: readonly string[] }) {
  return ids.map((id, index) => (
    <span key={id}>
      {index > 0 && ', '}
      <Link to="/approvals/$id" params={{ id }}>
        {ids.length === 1 ? 'approval' : `approval ${index + 1}`}
      </Link>
    </span>
  ));
}

function OfTask({ id }: { id: string }) {
  const { data } = useQuery(taskQuery(id));
  if (data === undefined) return null;
  return (
    <>
      {' '}
      <Link to="/tasks/$ref" params={{ ref: data.publicId }}>
        {data.publicId}
      </Link>
    </>
  );
}

import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { JournalEvent } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { workspaceQuery } from '../queries.ts';
import { useKeys } from '../shell/keys.ts';
import { useTitle } from '../shell/title.ts';
import { EventLine, subjectOf, ToObject } from './EventLine.tsx';
import styles from './journal.module.css';
import { isId } from './journal-search.ts';
import {
  claimOf,
  type Fact,
  factsOf,
  holderQuery,
  objectAtEventQuery,
  type Then,
  useNext,
} from './object-at-event.ts';
import { ProcessAtEvent } from './ProcessAtEvent.tsx';

const eventsShownMax = 50;
const charactersMax = 2_000;
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** The state of an object after one of its events, reconstructed from the journal. */
export default function ObjectAtEventPage({ object, at }: { object: string; at: string }) {
  return (
    <div className="page">
      <ObjectAtEvent object={object} at={at} />
    </div>
  );
}

function ObjectAtEvent({ object, at }: { object: string; at: string }) {
  const query = useQuery(objectAtEventQuery(object, at));
  if (query.isError) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading lines={8} />;
  if (query.data === null)
    return (
      <>
        <h1>Journal</h1>
        <Empty title="Event not found">
          <p>
            The object has no such event. See{' '}
            <Link to="/journal" search={{ object }}>
              all of its events
            </Link>
            .
          </p>
        </Empty>
      </>
    );
  return <State then={query.data} />;
}

function State({ then: { events, isCut } }: { then: Then }) {
  const navigate = useNavigate();
  useTitle(`${nameOf(events)} at an earlier event`);
  const event = events.at(-1) as JournalEvent;
  const earlier = events.at(-2);
  const { entityType, entityId, occurredAt } = event;
  const { data: next, error, refetch } = useNext(entityId, event.cursor);
  const kind = entityType.replaceAll('_', ' ');
  const go = (to: JournalEvent | null | undefined) =>
    to && void navigate({ to: '/journal', search: { object: entityId, at: to.cursor } });
  useKeys({ k: () => go(next), j: () => go(earlier) });
  return (
    <article className="stack">
      <header className="stack">
        <p className="row soft">
          <Link to="/journal">Journal</Link>
          <Link to="/journal" search={{ object: entityId }}>
            All events of this {kind}
          </Link>
          <ToObject entityType={entityType} entityId={entityId} />
        </p>
        <h1 className="text">
          {nameOf(events)}{' '}
          <time dateTime={occurredAt} className={styles.then}>
            as of {exact.format(new Date(occurredAt))}
          </time>
        </h1>
        <div className="row" role="group" aria-label="Navigate its events">
          <button
            type="button"
            disabled={earlier === undefined}
            onClick={() => go(earlier)}
            aria-keyshortcuts="j"
          >
            Previous event
          </button>
          <button type="button" disabled={next == null} onClick={() => go(next)} aria-keyshortcuts="k">
            Next event
          </button>
          <span className="soft">
            {isCut ? `Event ${events.length}+` : `Event ${events.length}`}
            {next === null && ' (latest)'}
          </span>
        </div>
        {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      </header>
      <section className="card stack" aria-labelledby="state">
        <h2 id="state">State</h2>
        <Facts events={events} event={event} />
        <p className="soft">
          Reconstructed from{' '}
          {isCut ? `the ${events.length} events before this point` : 'all events up to this point'}.
          {entityType === 'task' &&
            " The journal does not contain a task's initial description, its comments or its custom field values."}
        </p>
      </section>
      {entityType === 'process_instance' && <ProcessAtEvent events={events} />}
      <section className="card stack" aria-labelledby="history">
        <h2 id="history">History</h2>
        <ol className={styles.plain}>
          {events
            .slice(-eventsShownMax)
            .toReversed()
            .map((one) => (
              <EventLine key={one.id} event={one} within={event.entityId} />
            ))}
        </ol>
        {events.length > eventsShownMax && (
          <p className="soft">Only the newest {eventsShownMax} events are shown.</p>
        )}
      </section>
    </article>
  );
}

/** The object's name in the newest event that has one. */
function nameOf(events: readonly JournalEvent[]): string {
  const facts = new Map(factsOf(events).map(({ name, value }) => [name, value]));
  const last = events.at(-1) as JournalEvent;
  const { element: _element, stage: _stage, ...members } = last.payload;
  return subjectOf({ ...last, payload: { ...members, ...Object.fromEntries(facts) } });
}

function Facts({ events, event }: { events: readonly JournalEvent[]; event: JournalEvent }) {
  const claimed = event.entityType === 'task' ? claimOf(events) : undefined;
  const holder = useQuery(holderQuery(claimed, event.cursor));
  const facts = shownOf(factsOf(events));
  return (
    <>
      {holder.isError && <ErrorNote error={holder.error} onRetry={() => void holder.refetch()} />}
      {facts.length === 0 && <p className="soft">These events contain no details.</p>}
      <dl className={styles.facts}>
        {event.entityType === 'task' && (
          <div className={styles.fact}>
            <dt>holder</dt>
            <dd>
              {claimed === undefined ? (
                <span className="soft">None</span>
              ) : holder.data === undefined ? (
                <span className="soft">{holder.isError ? 'Unknown' : '…'}</span>
              ) : (
                <Who id={holder.data} />
              )}
            </dd>
          </div>
        )}
        {facts.map((fact) => (
          <OneFact key={fact.name} fact={fact} isNew={fact.from.id === event.id && events.length > 1} />
        ))}
      </dl>
    </>
  );
}

/** The most important facts, in this order. The others follow in the journal's order. */
const first = [
  'title',
  'name',
  'displayName',
  'status',
  'statusKey',
  'state',
  'priority',
  'assigneeId',
  'description',
];
/** Facts that the heading shows already, or that have no meaning on their own. */
const silent = new Set([
  'publicId',
  'instanceKey',
  'systemStatusCategory',
  'typeVersion',
  'customFields',
  'origin',
]);

function shownOf(facts: readonly Fact[]): Fact[] {
  const placeOf = ({ name }: Fact) => (first.includes(name) ? first.indexOf(name) : first.length);
  return facts
    .filter(({ name, value }) => !silent.has(name) && value !== 0)
    .toSorted((one, other) => placeOf(one) - placeOf(other));
}

function OneFact({ fact: { name, value, from }, isNew }: { fact: Fact; isNew: boolean }) {
  return (
    <div className={styles.fact}>
      <dt>{wordsOf(name)}</dt>
      <dd>
        <Value name={name} value={value} />{' '}
        <span className={isNew ? styles.isNew : 'soft'}>
          {isNew ? 'changed by this event' : <Moment at={from.occurredAt} />}
        </span>
      </dd>
    </div>
  );
}

const ofPrincipals =
  /^(.*[pP]rincipalId|assigneeId|holderId|ownerId|requestedBy|decisionBy|cancelledBy|owner)$/;

function Value({ name, value }: { name: string; value: unknown }) {
  if (typeof value === 'string' && ofPrincipals.test(name)) return <Who id={value} />;
  if (name === 'workspaceId') return <WorkspaceName id={String(value)} />;
  if (name === 'taskId') return <ToObject entityType="task" entityId={String(value)} />;
  if (value === true) return <span>yes</span>;
  if (typeof value === 'string' && isId(value))
    return (
      <Link to="/journal" search={{ object: value }} className="mono">
        {value}
      </Link>
    );
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <span className="text">{text.length > charactersMax ? `${text.slice(0, charactersMax)} …` : text}</span>
  );
}

function WorkspaceName({ id }: { id: string }) {
  const { data } = useQuery(workspaceQuery(id));
  return <span className={data === undefined ? 'mono' : ''}>{data?.name ?? id.slice(-8)}</span>;
}

/** `dueDate` as `due date`, `assigneeId` as `assignee`. */
const wordsOf = (name: string): string =>
  name
    .replace(/(?<=[a-z])(Id|Key)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Checkpoint, ControlMessage, JournalEvent, Run, RunAction } from '@baton/sdk';
import { RawEvent } from '../journal/EventLine.tsx';
import { SentenceText } from '../journal/sentences/Sentence.tsx';
import { costs, duration, short } from '../parts/amounts.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import { messageWords } from './messages.ts';
import { noteOf, restOf } from './result-facts.ts';
import styles from './run.module.css';
import { actionsQuery, checkpointsQuery, eventsQuery, messagesQuery } from './run-queries.ts';
import { type Entry, entriesOf } from './timeline-entries.ts';

/** How many of the newest entries are shown at first, and how many more with each click. */
const step = 100;

/** The history of a run, oldest first: checkpoints, actions, control messages and journal events. */
export function Timeline({ run }: { readonly run: Run }) {
  const mayReadEvents = useQuery(meQuery).data?.permissions.includes('events.read') ?? false;
  const checkpoints = useQuery(checkpointsQuery(run.id));
  const actions = useQuery(actionsQuery(run));
  const messages = useQuery(messagesQuery(run.id));
  const events = useQuery({ ...eventsQuery(run.id), enabled: mayReadEvents });
  const [shown, setShown] = useState(step);
  const lists = [checkpoints, actions, messages, events];
  const failed = lists.find(({ isError, data }) => isError && data === undefined);
  const isLoading = checkpoints.isPending || actions.isPending || messages.isPending;
  const entries = entriesOf({
    checkpoints: checkpoints.data?.items ?? [],
    actions: actions.data?.items ?? [],
    messages: messages.data?.items ?? [],
    events: events.data?.items ?? [],
  });
  const isCut = lists.some(({ data }) => data?.isCut);
  return (
    <section className="card stack" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {failed !== undefined && <ErrorNote error={failed.error} onRetry={() => void failed.refetch()} />}
      {isLoading && failed === undefined && <Loading lines={4} />}
      {!isLoading && entries.length === 0 && <p className="soft">The agent has recorded nothing yet.</p>}
      {entries.length > shown && (
        <div className="row">
          <button type="button" onClick={() => setShown(shown + step)}>
            Show earlier
          </button>
          <span className="soft">{(entries.length - shown).toLocaleString('en')} earlier entries</span>
        </div>
      )}
      <ol className={styles.timeline} aria-label="Timeline, the oldest first">
        {entries.slice(-shown).map((entry) => (
          <li key={entry.key} className={`${styles.entry} ${styles[toneOf(entry)] ?? ''}`}>
            <OneEntry entry={entry} run={run} />
          </li>
        ))}
      </ol>
      {isCut && <p className="soft">The run has more entries than this page loads.</p>}
    </section>
  );
}

function OneEntry({ entry, run }: { readonly entry: Entry; readonly run: Run }): ReactNode {
  if ('checkpoint' in entry) return <CheckpointEntry checkpoint={entry.checkpoint} />;
  if ('action' in entry) return <ActionEntry action={entry.action} />;
  if ('message' in entry) return <MessageEntry message={entry.message} />;
  return <EventEntry event={entry.event} run={run} />;
}

function toneOf(entry: Entry): string {
  if ('checkpoint' in entry) return 'checkpoint';
  if ('message' in entry) return 'message';
  if ('action' in entry) return entry.action.status === 'failed' ? 'failed' : 'action';
  if (entry.event.type.endsWith('succeeded')) return 'succeeded';
  return /(failed|cancelled|stalled)$/.test(entry.event.type) ? 'failed' : 'event';
}

function CheckpointEntry({
  checkpoint: { seq, kind, data, createdAt },
}: {
  readonly checkpoint: Checkpoint;
}) {
  const note = noteOf(data);
  const rest = restOf(data, true);
  return (
    <>
      <p className={styles.what}>
        <strong>Checkpoint {seq}</strong> <span className="soft">{kind.slice(0, 100)}</span>{' '}
        <span className="soft">
          <Moment at={createdAt} />
        </span>
      </p>
      {note !== undefined && <Prose text={note} />}
      {Object.keys(rest).length > 0 && (
        <details>
          <summary className={styles.summary}>Data</summary>
          <Values of={rest} isWhole />
        </details>
      )}
    </>
  );
}

function ActionEntry({ action }: { readonly action: RunAction }) {
  const { action: name, status, startedAt, finishedAt, externalReference, metadata, usage } = action;
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  const cost = costs({
    inputTokens: 0,
    outputTokens: 0,
    costs:
      usage.costMicros === null ? [] : [{ costMicros: usage.costMicros, currency: usage.currency ?? 'USD' }],
  });
  const facts = [
    finishedAt !== null && duration(Date.parse(finishedAt) - Date.parse(startedAt)),
    tokens > 0 && `${short(tokens)} tokens`,
    cost,
  ].filter((one) => typeof one === 'string');
  const more = { ...metadata, ...(externalReference !== null && { externalReference }) };
  return (
    <>
      <p className={styles.what}>
        <span className={styles.code}>{name.slice(0, 300)}</span>{' '}
        <span className={status === 'failed' ? styles.bad : 'soft'}>
          {status === 'started' ? 'in progress' : status}
        </span>{' '}
        <span className="soft">
          {facts.length > 0 && `${facts.join(' · ')} · `}
          <Moment at={startedAt} />
        </span>
      </p>
      {Object.keys(more).length > 0 && (
        <details>
          <summary className={styles.summary}>Details</summary>
          <Values of={more} />
        </details>
      )}
    </>
  );
}

function MessageEntry({ message }: { readonly message: ControlMessage }) {
  const { operation, status, directive, reason, requestedByPrincipalId, acceptedAt, resolvedAt } = message;
  const text = directive ?? reason;
  return (
    <>
      <p className={styles.what}>
        <strong>
          <Who id={requestedByPrincipalId} />
        </strong>{' '}
        {messageWords[operation].did}{' '}
        <span className="soft">
          <Moment at={acceptedAt} />
        </span>
      </p>
      {text !== '' && <Prose text={text} />}
      <p className={status === 'rejected' ? styles.bad : 'soft'}>
        {status === 'accepted' ? (
          'The agent has not acknowledged it yet.'
        ) : (
          <>
            {status}
            {message.safeBoundary !== null && ` at ${message.safeBoundary}`}
            {resolvedAt !== null && (
              <>
                {' '}
                <Moment at={resolvedAt} />
              </>
            )}
          </>
        )}
      </p>
    </>
  );
}

function EventEntry({ event, run }: { readonly event: JournalEvent; readonly run: Run }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className={styles.sentence} title={event.type}>
        <SentenceText event={event} within={run.taskId} />{' '}
        <span className="soft">
          <Moment at={event.occurredAt} />
        </span>
      </summary>
      {isOpen && <RawEvent event={event} isAlone />}
    </details>
  );
}

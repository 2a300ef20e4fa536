import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { CopyButton } from '../parts/CopyButton.tsx';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import styles from './journal.module.css';
import { isId } from './journal-search.ts';
import { LooksUpNames, SentenceText } from './sentences/Sentence.tsx';
import { useInSight } from './use-in-sight.ts';

const payloadCharactersMax = 4000;

/**
 * One event as a sentence, with its code. When opened, it shows the payload and related links.
 * @param within the id of the object whose page shows the line
 */
export function EventLine({ event, within }: { event: JournalEvent; within?: string }) {
  // Only a few of hundreds of lines are ever expanded, so the payload is rendered only then.
  const [isOpen, setOpen] = useState(false);
  const line = useRef<HTMLLIElement>(null);
  const isInSight = useInSight(line);
  return (
    <li ref={line} className={styles.event}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className={styles.what}>
            <LooksUpNames value={isInSight}>
              <SentenceText event={event} {...(within !== undefined && { within })} />
            </LooksUpNames>
          </span>
          <span className={styles.type}>{event.type}</span>
          <span className={`soft ${styles.when}`}>
            <Moment at={event.occurredAt} />
          </span>
        </summary>
        {isOpen && <RawEvent event={event} isAlone={within !== undefined} />}
      </details>
    </li>
  );
}

/** An event as recorded in the journal, with related links and buttons that copy its code and the event. */
export function RawEvent({ event, isAlone }: { event: JournalEvent; isAlone: boolean }) {
  const { type, entityType, entityId, actorId, cursor } = event;
  const payload = JSON.stringify(event.payload, null, 2);
  const kind = entityType.replaceAll('_', ' ');
  return (
    <div className="stack">
      <p className={`row ${styles.leads}`}>
        <Link to="/journal" search={{ object: entityId, at: cursor }}>
          View {kind} at this event
        </Link>
        {(!isAlone || entityType === 'run' || entityType === 'approval') && (
          <ToObject entityType={entityType} entityId={entityId} />
        )}
        {!isAlone && (
          <>
            <Link to="/journal" search={{ object: entityId }}>
              All events of this {kind}
            </Link>
            <Link to="/journal" search={{ types: type }}>
              All {type} events
            </Link>
            {actorId !== null && (
              <Link to="/journal" search={{ actor: actorId }}>
                All events by <Who id={actorId} />
              </Link>
            )}
          </>
        )}
      </p>
      <p className={`row ${styles.leads}`}>
        <code className="mono">{type}</code>
        <CopyButton text={type} label="Copy code" />
        <CopyButton text={JSON.stringify(event, null, 2)} label="Copy event" />
      </p>
      <pre className={`mono ${styles.payload}`}>
        {payload.slice(0, payloadCharactersMax)}
        {payload.length > payloadCharactersMax && ' …'}
      </pre>
    </div>
  );
}

/** A link to the object's own page, if it has one. */
export function ToObject({ entityType, entityId }: { entityType: string; entityId: string }) {
  if (entityType === 'task')
    return (
      <Link to="/tasks/$ref" params={{ ref: entityId }}>
        Open task
      </Link>
    );
  if (entityType === 'run')
    return (
      <Link to="/runs/$id" params={{ id: entityId }}>
        Open attempt
      </Link>
    );
  if (entityType === 'project')
    return (
      <Link to="/projects/$id" params={{ id: entityId }}>
        Open project
      </Link>
    );
  if (entityType === 'approval')
    return (
      <Link to="/approvals/$id" params={{ id: entityId }}>
        Open approval
      </Link>
    );
  if (entityType === 'process_instance')
    return (
      <Link to="/processes/$id" params={{ id: entityId }}>
        Open process
      </Link>
    );
  return null;
}

/** A short name of the event's object, from its payload where possible. */
export function subjectOf({ payload, entityType, entityId }: JournalEvent): string {
  const { publicId, taskPublicId, title, displayName, name, key, instanceKey, clientName, element, stage } =
    payload;
  const id = publicId ?? taskPublicId ?? instanceKey;
  const words = [id, title ?? displayName ?? name ?? key ?? clientName ?? element ?? stage].filter(
    (word) => typeof word === 'string' && !isId(word),
  );
  return words.length > 0
    ? words.join(' ').slice(0, 200)
    : `${entityType.replaceAll('_', ' ')} ${entityId.slice(-8)}`;
}

import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import styles from './journal.module.css';
import { isId } from './journal-search.ts';

const payloadCharactersMax = 4000;

/**
 * One event, with its payload and related links on demand.
 * @param isAlone whether the page already shows the event's object
 */
export function EventLine({ event, isAlone = false }: { event: JournalEvent; isAlone?: boolean }) {
  const subject = isAlone ? partOf(event) : subjectOf(event);
  // Only a few of hundreds of lines are ever expanded, so the payload is rendered only then.
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles.event}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className={styles.what}>
            <span className={styles.type}>{event.type}</span>
            {subject !== '' && (
              <span className={`soft ${styles.subject}`} title={subject}>
                {subject}
              </span>
            )}
          </span>
          <span className={styles.by}>
            {event.actorId === null ? <span className="soft">Baton</span> : <Who id={event.actorId} />}
          </span>
          <span className={`soft ${styles.when}`}>
            <Moment at={event.occurredAt} />
          </span>
        </summary>
        {isOpen && <Inside event={event} isAlone={isAlone} />}
      </details>
    </li>
  );
}

function Inside({ event, isAlone }: { event: JournalEvent; isAlone: boolean }) {
  const { type, entityType, entityId, actorId, cursor } = event;
  const payload = JSON.stringify(event.payload, null, 2);
  const kind = entityType.replaceAll('_', ' ');
  return (
    <div className="stack">
      <p className={`row ${styles.leads}`}>
        <Link to="/journal" search={{ object: entityId, at: cursor }}>
          View {kind} at this event
        </Link>
        {!isAlone && (
          <>
            <ToObject entityType={entityType} entityId={entityId} />
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

/** The part of the object that the event is about, or its new state. */
function partOf({ payload }: JournalEvent): string {
  const { element, stage, status, statusKey, reason, kind, outcome, changes } = payload;
  const changed =
    typeof changes === 'object' && changes !== null ? Object.keys(changes).join(', ') : undefined;
  return [element ?? stage, outcome ?? status ?? statusKey ?? kind, changed ?? reason]
    .filter((word) => typeof word === 'string')
    .join(' · ')
    .slice(0, 200);
}

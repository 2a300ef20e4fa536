import { Link } from '@tanstack/react-router';
import type { JournalEvent } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import styles from './journal.module.css';

const payloadCharactersMax = 4000;

/** One event; its payload opens on demand. @param isAlone whether the page says already which object it is about */
export function EventLine({ event, isAlone = false }: { event: JournalEvent; isAlone?: boolean }) {
  const payload = JSON.stringify(event.payload, null, 2);
  return (
    <li className={styles.event}>
      <details>
        <summary>
          <span className={styles.what}>
            <span className={styles.type}>{event.type}</span>
            {!isAlone && <span className="soft">{subjectOf(event)}</span>}
          </span>
          <span className={styles.by}>
            {event.actorId === null ? <span className="soft">Baton</span> : <Who id={event.actorId} />}
          </span>
          <span className={`soft ${styles.when}`}>
            <Moment at={event.occurredAt} />
          </span>
        </summary>
        <div className="stack">
          {!isAlone && event.entityType === 'task' && (
            <Link to="/tasks/$ref" params={{ ref: event.entityId }}>
              Open the task
            </Link>
          )}
          <pre className={`mono ${styles.payload}`}>
            {payload.slice(0, payloadCharactersMax)}
            {payload.length > payloadCharactersMax && ' …'}
          </pre>
        </div>
      </details>
    </li>
  );
}

/** What the event is about, in the words of its payload where it has some. */
function subjectOf({ payload, entityType, entityId }: JournalEvent): string {
  const { publicId, title, displayName, name, key } = payload;
  const words = [publicId, title ?? displayName ?? name ?? key].filter((word) => typeof word === 'string');
  return words.length > 0 ? words.join(' ').slice(0, 200) : `${entityType} ${entityId.slice(-8)}`;
}

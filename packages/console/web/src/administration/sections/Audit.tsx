import { useState } from 'react';
import { Moment } from '../../parts/Moment.tsx';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { Field, Line, List, pageSize } from '../Section.tsx';

interface Filter {
  readonly action: string;
  readonly actor: string;
  readonly outcome: string;
}

/** Who has done what in identity, the newest first, and how the record is verified. */
export function Audit({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  const [filter, setFilter] = useState<Filter>({ action: '', actor: '', outcome: '' });
  const { action, actor, outcome } = filter;
  return (
    <>
      <div className="card stack">
        <p>
          Each record is chained to the one before and sealed by a key that only the operator has. So it is
          verified where that key is:
        </p>
        <p>
          <code className="mono">npx baton identity audit verify</code>
        </p>
        <p className="soft">It says from where to where the record is whole, and what was changed or cut.</p>
      </div>
      <form
        className={styles.filter}
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string) => String(data.get(name) ?? '').trim();
          setFilter({ action: text('action'), actor: text('actor'), outcome: text('outcome') });
        }}
      >
        <Field name="action" label="Action" placeholder="principals.disable" />
        <Field name="actor" label="Actor" placeholder="bootstrap:maria" />
        <label className={styles.field}>
          <span>Outcome</span>
          <select name="outcome" defaultValue="">
            <option value="">any</option>
            <option>allowed</option>
            <option>denied</option>
          </select>
        </label>
        <button type="submit">Show</button>
      </form>
      <List
        name={['audit', filter]}
        empty="No record is like this."
        read={(after, signal) =>
          identity.audit
            .listRecords(
              {
                tenantId,
                order: 'desc',
                limit: pageSize,
                ...(action && { action }),
                ...(actor && { actor }),
                ...(outcome && { outcome: outcome as 'allowed' | 'denied' }),
                ...(after && { after: Number(after) }),
              },
              { signal },
            )
            .then(({ items, next_after }) => ({
              items,
              next: next_after === null ? undefined : String(next_after),
            }))
        }
      >
        {(record) => (
          <Line
            key={record.sequence}
            title={record.action}
            facts={[
              <>
                {record.outcome} · {record.actor_ref} · <Moment at={record.occurred_at} /> ·{' '}
                {record.resource_type} <span className="mono">{record.resource_id}</span>
              </>,
              record.reason,
              <span className="mono">
                {record.sequence} · {record.request_id}
              </span>,
            ]}
          />
        )}
      </List>
    </>
  );
}

import { useState } from 'react';
import type { identity } from '@baton/sdk';
import { isId } from '../../journal/journal-search.ts';
import { Field, SelectField } from '../../parts/Field.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Values } from '../../parts/Values.tsx';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { PrincipalName } from '../Choices.tsx';
import { List, pageSize } from '../Section.tsx';

interface Filter {
  readonly action: string;
  readonly actor: string;
  readonly request: string;
  readonly outcome: string;
}

const everything: Filter = { action: '', actor: '', request: '', outcome: '' };

/** The audit log of the identity service, newest first, and the command that verifies it. */
export function Audit({ admin }: { admin: Administration }) {
  const { tenantId } = admin;
  const [filter, setFilter] = useState(everything);
  const { action, actor, request, outcome } = filter;
  return (
    <>
      <details className={`card ${styles.create}`}>
        <summary>Verify the audit log</summary>
        <div className="stack">
          <p>
            Each record is chained to the previous one and sealed with a key that neither the database nor
            this page can read. Verify the log on the host that has the key:
          </p>
          <pre className={`mono ${styles.value}`}>{verification}</pre>
          <p className="soft">
            The output lists the intact range and any record that was changed or removed. To run the check
            every day, see docs/operations.md.
          </p>
        </div>
      </details>
      <form
        className={styles.filter}
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string) => String(data.get(name) ?? '').trim();
          setFilter({
            action: text('action'),
            actor: text('actor'),
            request: text('request'),
            outcome: text('outcome'),
          });
        }}
      >
        <Field name="action" label="Action" placeholder="principals.disable" />
        <Field name="actor" label="Actor" placeholder="bootstrap:maria" />
        <Field name="request" label="Request" placeholder="req_…" maxLength={128} />
        <SelectField name="outcome" label="Outcome" defaultValue="">
          <option value="">any</option>
          <option>allowed</option>
          <option>denied</option>
        </SelectField>
        <button type="submit">Filter</button>
      </form>
      <List
        name={['audit', filter]}
        empty="No records match these filters."
        read={(after, signal) =>
          admin.identity.audit
            .listTenantRecords(
              tenantId,
              {
                order: 'desc',
                limit: pageSize,
                ...(action && { action }),
                ...(actor && { actor }),
                ...(request && { requestId: request }),
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
        {(record) => <Record key={record.sequence} admin={admin} record={record} />}
      </List>
    </>
  );
}

/** The command of docs/operations.md, with the key path of the default run. */
const verification = `eval "$(baton env)"
IAM_DATABASE_URL=$BATON_IAM_DATABASE_URL baton identity audit verify --key .baton/secrets/audit-key`;

function Record({ admin, record }: { admin: Administration; record: identity.AuditRecord }) {
  const { sequence, action, actor_ref, outcome, occurred_at, reason, resource_type, resource_id } = record;
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles.record}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="mono">{action}</span>
          <span className={outcome === 'denied' ? styles.denied : 'soft'}>{outcome}</span>
          <span className={styles.actor}>
            {isId(actor_ref) ? <PrincipalName admin={admin} id={actor_ref} /> : actor_ref}
          </span>
          <span className={`soft ${styles.when}`}>
            <Moment at={occurred_at} />
          </span>
        </summary>
        {isOpen && (
          <Values
            of={{
              reason,
              [resource_type.replaceAll('_', ' ')]: resource_id,
              actor: actor_ref,
              request: record.request_id,
              record: `${sequence} · ${record.id}`,
            }}
          />
        )}
      </details>
    </li>
  );
}

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { baton } from '../../client.ts';
import { Moment } from '../../parts/Moment.tsx';
import { meQuery } from '../../queries.ts';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { PersonDoors } from '../PersonDoors.tsx';
import { describeRemainingAccess } from '../remaining-access.ts';
import { Act, Create, Field, Line, List, pageSize, type Values } from '../Section.tsx';

type Kind = 'human' | 'agent' | 'workload';

/** Permission sets for a new principal. Nobody can grant a permission that they don't have. */
const presets: Readonly<Record<string, { name: string; takes(right: string): boolean }>> = {
  work: {
    name: 'Work: read, claim and complete tasks',
    takes: (right) =>
      [
        'sessions.open',
        'tasks.read',
        'tasks.write',
        'tasks.claim',
        'artifacts.read',
        'artifacts.write',
        'approvals.read',
        'observations.write',
        'events.read',
        'principals.read',
        'org.read',
        'task_types.read',
        'workspaces.read',
        'projects.read',
        'goals.read',
        'processes.read',
        'agents.read',
        'skills.invoke',
        'skills.execute',
      ].includes(right),
  },
  read: { name: 'Read only', takes: (right) => right.endsWith('.read') },
  all: { name: 'All of my permissions except administration', takes: (right) => right !== 'admin' },
};

const filters = {
  all: { name: 'all', by: {} },
  people: { name: 'people', by: { kind: 'human' } },
  agents: { name: 'agents', by: { kind: 'agent' } },
  programs: { name: 'programs', by: { kind: 'workload' } },
  accounts: { name: 'service accounts', by: { kind: 'service_account' } },
  disabled: { name: 'disabled', by: { status: 'disabled' } },
} as const;
type Shown = keyof typeof filters;

/** People, agents and programs with an identity. */
export function Principals({ admin }: { admin: Administration }) {
  const { identity, tenantId, issuer } = admin;
  const me = useQuery(meQuery);
  const mine = me.data?.permissions ?? [];
  const [shown, setShown] = useState<Shown>('all');
  const mayAdmit = mine.includes('principals.write');

  async function create(values: Values, idempotencyKey: string) {
    const kind = values.text('kind') as Kind;
    const displayName = values.text('name');
    const preset = presets[values.text('rights')];
    const { id } = await identity.principals.create(tenantId, { kind, displayName }, { idempotencyKey });
    if (preset === undefined) return;
    const principal = await baton.principals.create(
      { kind: kind === 'workload' ? 'service' : kind, displayName },
      { idempotencyKey },
    );
    await baton.principals.createIamBinding(principal.id, {
      issuer,
      iamTenantId: tenantId,
      iamPrincipalId: id,
      permissions: mine.filter(preset.takes),
    });
  }

  return (
    <>
      <Create title="New person or agent" make={create}>
        <Field name="name" label="Name" required maxLength={200} />
        <label className={styles.field}>
          <span>Kind</span>
          <select name="kind" defaultValue="agent">
            <option value="agent">agent</option>
            <option value="human">person</option>
            <option value="workload">program</option>
          </select>
        </label>
        {mayAdmit ? (
          <label className={styles.field}>
            <span>Permissions</span>
            <select name="rights" defaultValue="work">
              {Object.entries(presets).map(([key, { name }]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
              <option value="none">No access</option>
            </select>
          </label>
        ) : (
          <p className="soft">
            To grant access to Baton, you need the permission <code className="mono">principals.write</code>.
          </p>
        )}
      </Create>
      <label className={styles.check}>
        <span className="soft">Show</span>
        <select value={shown} onChange={({ target }) => setShown(target.value as Shown)}>
          {Object.entries(filters).map(([key, { name }]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <List
        name={['principals', shown]}
        empty={shown === 'all' ? 'No principals yet.' : 'No principals match this filter.'}
        read={(after, signal) =>
          identity.principals
            .list(tenantId, { limit: pageSize, ...filters[shown].by, ...(after && { after }) }, { signal })
            .then(({ items, next_after }) => ({ items, next: next_after ?? undefined }))
        }
      >
        {({ id, kind, display_name, status, created_at }) => (
          <Line
            key={id}
            title={display_name}
            isOff={status === 'disabled'}
            facts={[
              <>
                {kind.replaceAll('_', ' ')} · {status} · added <Moment at={created_at} />
              </>,
              <span className="mono">{id}</span>,
            ]}
            acts={
              status === 'active' ? (
                <Act
                  label="Disable"
                  confirm="why"
                  note={describeRemainingAccess('a disabled principal')}
                  act={(why) => identity.principals.disable(tenantId, id, why ? { reason: why } : {})}
                />
              ) : (
                <Act label="Enable" act={() => identity.principals.enable(tenantId, id)} />
              )
            }
          >
            {kind === 'human' && <Doors admin={admin} principalId={id} displayName={display_name} />}
          </Line>
        )}
      </List>
      <p className="soft">
        {describeRemainingAccess('a disabled principal')} A principal that is enabled again needs new platform
        access tokens.
      </p>
    </>
  );
}

/** Loads the passkeys and browsers of a person when they are unfolded. */
function Doors(props: Parameters<typeof PersonDoors>[0]) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Passkeys, browsers, recovery</summary>
      {isOpen && <PersonDoors {...props} />}
    </details>
  );
}

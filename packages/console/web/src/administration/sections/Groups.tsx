import { useState } from 'react';
import type { identity } from '@baton/sdk';
import { Field } from '../../parts/Field.tsx';
import type { Administration } from '../admin-secret.ts';
import { PrincipalChoice } from '../Choices.tsx';
import { Act, Create, Line, List, pageSize, type Values } from '../Section.tsx';

/** Groups: local ones, and those managed by an identity provider or a directory. */
export function Groups({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  async function create(values: Values, idempotencyKey: string) {
    await identity.groups.create(
      tenantId,
      { key: values.text('key'), name: values.text('name') },
      { idempotencyKey },
    );
  }
  return (
    <>
      <Create title="New group" make={create} codes={{ group_exists: 'key' }}>
        <Field name="key" label="Key" required maxLength={120} placeholder="engineers" />
        <Field name="name" label="Name" required maxLength={200} />
      </Create>
      <List
        name={['groups']}
        empty="No groups."
        read={(after, signal) =>
          identity.groups
            .list(tenantId, { limit: pageSize, ...(after && { after }) }, { signal })
            .then(({ items, next_after }) => ({ items, next: next_after ?? undefined }))
        }
      >
        {(group) => <GroupLine key={group.id} admin={admin} group={group} />}
      </List>
    </>
  );
}

const managers = {
  local: 'local',
  federated: 'managed by an identity provider',
  scim: 'managed by a directory',
};

function GroupLine({ admin, group }: { admin: Administration; group: identity.Group }) {
  const { identity, tenantId } = admin;
  const [isOpen, setOpen] = useState(false);
  const { id, key, name, status, source } = group;
  const change = (next: 'active' | 'disabled') => identity.groups.update(tenantId, id, { status: next });
  return (
    <Line
      title={name}
      isOff={status === 'disabled'}
      facts={[
        <>
          <span className="mono">{key}</span> · {managers[source]} · {status}
        </>,
      ]}
      acts={
        <>
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Members
          </button>
          {source === 'local' && (
            <>
              {status === 'active' ? (
                <Act label="Disable" confirm="sure" act={() => change('disabled')} />
              ) : (
                <Act label="Enable" act={() => change('active')} />
              )}
              <Act label="Delete" confirm="sure" act={() => identity.groups.delete(tenantId, id)} />
            </>
          )}
        </>
      }
    >
      {isOpen && <Members admin={admin} group={group} />}
    </Line>
  );
}

function Members({ admin, group }: { admin: Administration; group: identity.Group }) {
  const { identity, tenantId } = admin;
  const isLocal = group.source === 'local';
  return (
    <>
      {isLocal && (
        <Create
          title={`Add to ${group.name}`}
          submit="Add"
          fields={{ principalId: 'principal' }}
          codes={{ group_membership_exists: 'principal', principal_not_found: 'principal' }}
          make={async (values) => {
            await identity.groups.addMember(tenantId, group.id, { principalId: values.text('principal') });
          }}
        >
          <PrincipalChoice admin={admin} name="principal" label="Principal" />
        </Create>
      )}
      <List
        name={['groups', group.id]}
        empty="No members."
        read={(after, signal) =>
          identity.groups
            .listMembers(tenantId, group.id, { limit: pageSize, ...(after && { after }) }, { signal })
            .then(({ items, next_after }) => ({ items, next: next_after ?? undefined }))
        }
      >
        {({ principal_id, display_name, kind, source }) => (
          <Line
            key={principal_id}
            title={display_name}
            facts={[`${kind.replaceAll('_', ' ')}${source === 'local' ? '' : ` · ${managers[source]}`}`]}
            acts={
              isLocal && (
                <Act
                  label="Remove"
                  confirm="sure"
                  act={() => identity.groups.removeMember(tenantId, group.id, principal_id)}
                />
              )
            }
          />
        )}
      </List>
    </>
  );
}

import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Role } from '@baton/sdk';
import { baton } from '../../client.ts';
import { Field, SelectField } from '../../parts/Field.tsx';
import { Empty, ErrorNote } from '../../parts/Notes.tsx';
import { Act, Create, Line, List, pageSize } from '../Section.tsx';

/** The roles of the tenant and their holders. Roles grant no permissions; tasks and approvals can require them. */
export function Roles({ permissions }: { permissions: readonly string[] }) {
  const mayManage = permissions.includes('org.manage');
  if (!permissions.includes('org.read'))
    return (
      <Empty title="You don't have access to roles">
        <p>
          You need the permission <code className="mono">org.read</code>. Contact an administrator.
        </p>
      </Empty>
    );
  return (
    <>
      {mayManage ? (
        <Create
          title="New role"
          codes={{ role_slug_conflict: 'slug' }}
          make={async (values, idempotencyKey) => {
            const description = values.text('description');
            await baton.roles.create(
              { slug: values.text('slug'), name: values.text('name'), description },
              { idempotencyKey },
            );
          }}
        >
          <Field name="name" label="Name" required maxLength={200} placeholder="Reviewer" />
          <Field name="slug" label="Slug" required maxLength={63} placeholder="reviewer" />
          <Field name="description" label="Description" maxLength={2000} />
        </Create>
      ) : (
        <p className="soft">
          To manage roles, you need the permission <code className="mono">org.manage</code>.
        </p>
      )}
      <List
        name={['roles']}
        empty="No roles yet. Tasks and approvals can require a role instead of a person."
        read={(after, signal) =>
          baton.roles
            .list({ limit: pageSize, ...(after && { cursor: after }) }, { signal })
            .then(({ items, nextCursor }) => ({ items, next: nextCursor ?? undefined }))
        }
      >
        {(role) => <RoleLine key={role.id} role={role} mayManage={mayManage} />}
      </List>
    </>
  );
}

function RoleLine({ role, mayManage }: { role: Role; mayManage: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const facts = [
    <>
      <span className="mono">{role.slug}</span>
      {role.workspaceId !== null && ' · workspace role'}
    </>,
    role.description,
  ].filter(Boolean);
  return (
    <Line
      title={role.name}
      facts={facts}
      acts={
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Holders
        </button>
      }
    >
      {isOpen && <Holders role={role} mayManage={mayManage} />}
    </Line>
  );
}

function Holders({ role, mayManage }: { role: Role; mayManage: boolean }) {
  return (
    <>
      {mayManage && (
        <Create
          title={`Assign ${role.name}`}
          submit="Assign"
          make={async (values, idempotencyKey) => {
            await baton.principals.assignRole(
              values.text('principal'),
              { roleId: role.id, workspaceId: role.workspaceId },
              { idempotencyKey },
            );
          }}
        >
          <HolderChoice />
        </Create>
      )}
      <List
        name={['roles', role.id]}
        empty="No holders."
        read={(after, signal) =>
          baton.roles
            .listPrincipals(role.id, { limit: pageSize, ...(after && { cursor: after }) }, { signal })
            .then(({ items, nextCursor }) => ({ items, next: nextCursor ?? undefined }))
        }
      >
        {({ id, displayName, kind, status }) => (
          <Line
            key={id}
            title={displayName}
            isOff={status === 'disabled'}
            facts={[`${kind} · ${status}`]}
            acts={
              mayManage && (
                <Act
                  label="Revoke"
                  confirm="sure"
                  act={() => baton.principals.revokeRole(id, role.id, { workspaceId: role.workspaceId })}
                />
              )
            }
          />
        )}
      </List>
    </>
  );
}

/** The principals of the coordination service, where roles are assigned. */
function HolderChoice() {
  const query = useInfiniteQuery({
    queryKey: ['principals', 'choice'],
    queryFn: ({ pageParam, signal }) =>
      baton.principals.list({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  return (
    <div className="row">
      <SelectField name="principal" label="Principal" required defaultValue="">
        <option value="" disabled>
          {query.isPending ? 'Loading …' : 'Select …'}
        </option>
        {query.data?.map(({ id, displayName, kind }) => (
          <option key={id} value={id}>
            {displayName} ({kind})
          </option>
        ))}
      </SelectField>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          Load more
        </button>
      )}
      {query.isError && <ErrorNote error={query.error} />}
    </div>
  );
}

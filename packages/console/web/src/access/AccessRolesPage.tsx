import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccessRole } from '@baton/sdk';
import { Act, Create, Field, Line, readValues, type Values } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { ErrorNote, FormProblem, Loading } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { meQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Allows } from './Allows.tsx';
import { accessRolesQuery } from './access-queries.ts';
import { PermissionChoice } from './PermissionChoice.tsx';

/** The built-in access roles and the tenant's own, and what each allows. */
export function AccessRolesPage() {
  useTitle('Access roles');
  return (
    <div className="page">
      <p className="row soft">
        <Link to="/people">People and agents</Link>
      </p>
      <h1>Access roles</h1>
      <Allowed permission="principals.read">
        <Content />
      </Allowed>
    </div>
  );
}

function Content() {
  useLineKeys();
  const queries = useQueryClient();
  const roles = useQuery(accessRolesQuery);
  const mayWrite = useQuery(meQuery).data?.permissions.includes('principals.write') ?? false;
  async function create(values: Values, idempotencyKey: string) {
    const description = values.text('description');
    requirePermissions(values);
    await baton.accessRoles.create(
      {
        key: values.text('key'),
        name: values.text('name'),
        permissions: values.all('permissions'),
        ...(description !== '' && { description }),
      },
      { idempotencyKey },
    );
    await queries.invalidateQueries({ queryKey: ['access-roles'] });
  }
  return (
    <>
      <p className="soft">
        A role decides what the people and agents who have it are allowed to do. A change applies to all of
        them at once. Built-in roles can't be changed.
      </p>
      {mayWrite ? (
        <Create title="New role" make={create}>
          <Field name="name" label="Name" required maxLength={120} placeholder="Planner" />
          <Field
            name="key"
            label="Key"
            hint="2 to 32 lower-case letters, digits and -; it never changes."
            required
            pattern="[a-z][a-z0-9\-]{1,31}"
            maxLength={32}
            placeholder="planner"
          />
          <Field name="description" label="Description" maxLength={2000} />
          <PermissionChoice given={[]} />
        </Create>
      ) : (
        <p className="soft">
          To manage access roles, you need the permission <code className="mono">principals.write</code>.
        </p>
      )}
      {roles.isError && <ErrorNote error={roles.error} onRetry={() => void roles.refetch()} />}
      {roles.isPending && <Loading lines={5} />}
      {roles.data !== undefined && (
        <ul className={table.lines}>
          {roles.data.map((role) => (
            <RoleLine key={role.key} role={role} mayWrite={mayWrite} />
          ))}
        </ul>
      )}
    </>
  );
}

/** A role without permissions is refused by coordination, too, but in terms of the request's schema. */
function requirePermissions(values: Values): void {
  if (values.all('permissions').length === 0) throw new FormProblem('Choose at least one permission.');
}

function RoleLine({ role, mayWrite }: { role: AccessRole; mayWrite: boolean }) {
  const queries = useQueryClient();
  const [shown, setShown] = useState<'allows' | 'edit'>();
  const toggle = (part: 'allows' | 'edit') => setShown(shown === part ? undefined : part);
  const { key, name, description, isBuiltIn, allows } = role;
  return (
    <Line
      title={name}
      facts={[
        <>
          <span className="mono">{key}</span> · {isBuiltIn ? 'built in' : 'custom'} ·{' '}
          <Link to="/people" search={{ role: key }}>
            who has it
          </Link>
        </>,
        ...(description === '' ? [] : [description]),
      ]}
      acts={
        <>
          <button
            type="button"
            aria-expanded={shown === 'allows'}
            aria-label={`What it allows: ${name}`}
            onClick={() => toggle('allows')}
          >
            What it allows
          </button>
          {mayWrite && !isBuiltIn && (
            <>
              <button
                type="button"
                aria-expanded={shown === 'edit'}
                aria-label={`Edit ${name}`}
                onClick={() => toggle('edit')}
              >
                Edit
              </button>
              <Act
                label="Delete"
                confirm="sure"
                note="Possible while nobody has the role."
                act={async () => {
                  await baton.accessRoles.delete(key);
                  await queries.invalidateQueries({ queryKey: ['access-roles'] });
                }}
              />
            </>
          )}
        </>
      }
    >
      {shown === 'allows' && <Allows texts={allows} />}
      {shown === 'edit' && <EditRole role={role} onDone={() => setShown(undefined)} />}
    </Line>
  );
}

function EditRole({ role, onDone }: { role: AccessRole; onDone: () => void }) {
  const queries = useQueryClient();
  const [version] = useState(role.version);
  const save = useMutation({
    mutationFn: async (values: Values) => {
      requirePermissions(values);
      return baton.accessRoles.update(
        role.key,
        {
          name: values.text('name'),
          description: values.text('description'),
          permissions: values.all('permissions'),
        },
        { ifMatch: `"access_role-${version}"` },
      );
    },
    onSuccess: onDone,
    onSettled: () => {
      for (const key of ['access-roles', 'principals', 'administration', 'me'])
        void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(readValues(event.currentTarget));
      }}
    >
      <Field name="name" label="Name" required maxLength={120} defaultValue={role.name} />
      <Field name="description" label="Description" maxLength={2000} defaultValue={role.description} />
      <PermissionChoice given={role.permissions} />
      <p className="soft">The change applies to everybody who has the role, at once.</p>
      {save.isError && <ErrorNote error={save.error} />}
      <div className="row">
        <button type="submit" className="primary" disabled={save.isPending}>
          {save.isPending ? 'Saving …' : 'Save'}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

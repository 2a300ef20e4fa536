import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccessRole } from '@baton/sdk';
import { Act, Create, Line, readValues, type Values } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { Field } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { FormProblem } from '../parts/form-faults.ts';
import { useLineKeys } from '../parts/line-keys.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { meQuery } from '../queries.ts';
import { useTitle } from '../shell/title.ts';
import { Allows } from './Allows.tsx';
import { accessRolesQuery, missingOf } from './access-queries.ts';
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
  const mine = useQuery(meQuery).data?.permissions ?? [];
  const mayWrite = mine.includes('principals.write');
  const [copied, setCopied] = useState<Copied>();
  function copy(role: AccessRole) {
    const permissions = role.permissions.filter((name) => missingOf([name], mine).length === 0);
    setCopied({ ...role, permissions, place: (copied?.place ?? 0) + 1 });
  }
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
    setCopied(undefined);
    await queries.invalidateQueries({ queryKey: ['access-roles'] });
  }
  return (
    <>
      <p className="soft">
        A role decides what the people and agents who have it are allowed to do. A change applies to all of
        them at once. Built-in roles can't be changed.
      </p>
      {mayWrite ? (
        <Create
          key={copied?.place ?? 0}
          title="New role"
          make={create}
          isOpenAtFirst={copied !== undefined}
          codes={roleFieldCodes}
        >
          {copied !== undefined && <p className="soft">A copy of {copied.name}. Choose a name and a key.</p>}
          <Field
            name="name"
            label="Name"
            required
            maxLength={120}
            placeholder="Planner"
            defaultValue={copied && `Copy of ${copied.name}`.slice(0, 120)}
            autoFocus={copied !== undefined}
          />
          <Field
            name="key"
            label="Key"
            hint="2 to 32 lower-case letters, digits and -; it never changes."
            required
            pattern="[a-z][a-z0-9\-]{1,31}"
            maxLength={32}
            title="2 to 32 lower-case letters, digits and -, beginning with a letter"
            placeholder="planner"
            defaultValue={copied && `${copied.key.slice(0, 27)}-copy`}
          />
          <Field name="description" label="Description" maxLength={2000} defaultValue={copied?.description} />
          <PermissionChoice given={copied?.permissions ?? []} />
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
            <RoleLine key={role.key} role={role} mayWrite={mayWrite} onCopy={() => copy(role)} />
          ))}
        </ul>
      )}
    </>
  );
}

/** The role with which the form for a new role is prefilled. Each copy opens a new form. */
type Copied = Pick<AccessRole, 'key' | 'name' | 'description' | 'permissions'> & { readonly place: number };

const roleFieldCodes = {
  access_role_key_conflict: 'key',
  invalid_permissions: 'permissions',
  permission_escalation: 'permissions',
  permissions_not_allowed_for_kind: 'permissions',
};

/** A role without permissions is refused by coordination, too, but in terms of the request's schema. */
function requirePermissions(values: Values): void {
  if (values.all('permissions').length === 0)
    throw new FormProblem('Choose at least one permission.', 'permissions');
}

interface RoleLineProps {
  readonly role: AccessRole;
  readonly mayWrite: boolean;
  onCopy(): void;
}

function RoleLine({ role, mayWrite, onCopy }: RoleLineProps) {
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
          {mayWrite && (
            <button type="button" aria-label={`Copy ${name}`} onClick={onCopy}>
              Copy
            </button>
          )}
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
    <Form error={save.error} codes={roleFieldCodes} onSubmit={(form) => save.mutate(readValues(form))}>
      <Field name="name" label="Name" required maxLength={120} defaultValue={role.name} />
      <Field name="description" label="Description" maxLength={2000} defaultValue={role.description} />
      <PermissionChoice given={role.permissions} />
      <p className="soft">The change applies to everybody who has the role, at once.</p>
      <div className="row">
        <button type="submit" className="primary" disabled={save.isPending}>
          {save.isPending ? 'Saving …' : 'Save'}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </Form>
  );
}

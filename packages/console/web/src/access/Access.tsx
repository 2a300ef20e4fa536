import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { BatonError } from '@baton/sdk';
import type { JoinedPerson } from '@baton/sdk/people';
import { baton } from '../client.ts';
import { Form } from '../parts/Form.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import { Allows } from './Allows.tsx';
import { countPermissions } from './access-queries.ts';
import { RoleChoice } from './RoleChoice.tsx';

interface AccessProps {
  readonly person: JoinedPerson;
  readonly principalId: string;
  readonly mayWrite: boolean;
}

/** What somebody is allowed to do, in words, and a form to change their role. */
export function Access({ person, principalId, mayWrite }: AccessProps) {
  const access = useQuery({
    queryKey: ['principals', principalId, 'access'],
    queryFn: ({ signal }) => baton.principals.getAccess(principalId, { signal }),
  });
  if (access.isError) return <ErrorNote error={access.error} onRetry={() => void access.refetch()} />;
  if (access.isPending) return <Loading lines={4} />;
  const { accessRole, allows, bindings, permissions } = access.data;
  const isBound = bindings.length > 0;
  return (
    <section className="card stack" aria-labelledby="access">
      <h2 id="access">Access</h2>
      {!isBound ? (
        <p>No access: no sign-in is linked.</p>
      ) : (
        <>
          <p>
            {accessRole === null
              ? `${countPermissions(permissions)} without an access role. With this access, ${person.displayName} can:`
              : `With the role ${accessRole}, ${person.displayName} can:`}
          </p>
          <Allows texts={allows} />
        </>
      )}
      {person.agent !== null ? (
        <p className="soft">
          The permissions of an agent of the registry are part of its specification, under{' '}
          <code className="mono">identity.permissions</code>.
        </p>
      ) : (
        mayWrite &&
        isBound && (
          <ChangeRole
            key={accessRole}
            principalId={principalId}
            displayName={person.displayName}
            accessRole={accessRole}
            version={access.data.version}
          />
        )
      )}
    </section>
  );
}

interface ChangeRoleProps {
  readonly principalId: string;
  readonly displayName: string;
  readonly accessRole: string | null;
  /** The version of the access that the person sees, so that they don't overwrite a newer one. */
  readonly version: number;
}

function ChangeRole({ principalId, displayName, accessRole, version }: ChangeRoleProps) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (role: string) =>
      baton.principals.setAccess(
        principalId,
        { accessRole: role },
        { ifMatch: `"principal_access-${version}"` },
      ),
    onSuccess: (_access, role) => notify(`${displayName} now has the role ${role}.`),
    onSettled: () => {
      for (const key of ['principals', 'administration', 'me'])
        void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const isEscalation = change.error instanceof BatonError && change.error.code === 'permission_escalation';
  return (
    <Form
      error={change.error}
      fields={{ accessRole: 'role' }}
      note={(error) => (
        <>
          {isEscalation && (
            <p role="alert">
              You can only change access that is within your own, and only grant permissions that you have.
            </p>
          )}
          <ErrorNote error={error} />
        </>
      )}
      onSubmit={(form) => change.mutate(String(new FormData(form).get('role')))}
    >
      <RoleChoice label="Change the role to" given={accessRole} isExplained />
      <p className="soft">The change applies to the next request, and to pages that are open.</p>
      <div className="row">
        <button type="submit" disabled={change.isPending}>
          {change.isPending ? 'Changing …' : 'Change role'}
        </button>
      </div>
    </Form>
  );
}

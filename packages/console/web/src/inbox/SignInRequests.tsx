import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { BatonError, type HarnessContext } from '@baton/sdk';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { type Administration, useAdministration } from '../administration/admin-secret.ts';
import { Act } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import styles from './inbox.module.css';

const shownMax = 50;
const usualRole = 'member';

type Request = Awaited<ReturnType<Administration['identity']['signInRequests']['list']>>['items'][number];

/** Unknown people who signed in through a provider, shown to those who may admit them. */
export function SignInRequests({ me }: { me: HarnessContext }) {
  const admin = useAdministration();
  if (!me.permissions.includes('principals.write')) return null;
  return (
    <section className={styles.section} aria-labelledby="sign-in-requests">
      <h2 id="sign-in-requests">Sign-in requests</h2>
      {admin === undefined ? (
        <details className="card">
          <summary>Show sign-in requests</summary>
          <AdministrationGate />
        </details>
      ) : (
        <Requests admin={admin} />
      )}
    </section>
  );
}

function Requests({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  const requests = useQuery({
    queryKey: ['administration', 'sign-in-requests'],
    queryFn: ({ signal }) =>
      identity.signInRequests
        .list(tenantId, { status: 'pending', limit: shownMax }, { signal })
        .then(({ items }) => items),
  });
  const roles = useQuery({
    queryKey: ['access-roles'],
    queryFn: ({ signal }) => baton.accessRoles.list({ signal }).then(({ items }) => items),
  });
  if (requests.isError) return <ErrorNote error={requests.error} onRetry={() => void requests.refetch()} />;
  if (roles.isError) return <ErrorNote error={roles.error} onRetry={() => void roles.refetch()} />;
  if (requests.data === undefined || roles.data === undefined) return <Loading lines={2} />;
  if (requests.data.length === 0) return <p className="soft">No sign-in requests.</p>;
  return (
    <ul className="stack">
      {requests.data.map((request) => (
        <li key={request.id} className="card stack">
          <RequestCard admin={admin} request={request} roles={roles.data} />
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  readonly admin: Administration;
  readonly request: Request;
  readonly roles: readonly {
    readonly key: string;
    readonly name: string;
    readonly allows: readonly string[];
  }[];
}

function RequestCard({ admin, request, roles }: CardProps) {
  const queries = useQueryClient();
  const [role, setRole] = useState(usualRole);
  const admit = useMutation({
    mutationFn: () => admitRequest(admin, request, role),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration', 'sign-in-requests'] }),
  });
  const { displayName, email, emailVerified, identityProvider, createdAt } = request;
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    admit.mutate();
  }
  return (
    <>
      <p className={styles.title}>
        {displayName}
        {email !== null && `, ${email}`}, from {identityProvider}
      </p>
      <p className="soft">
        Requested <Moment at={createdAt} />
        {email !== null && !emailVerified && '. The provider has not verified the e-mail address'}.
      </p>
      <div className="row">
        <form className="row" onSubmit={onSubmit}>
          <label className="row">
            <span>Admit as</span>
            <select value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
              {roles.map(({ key, name }) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" className="primary" disabled={admit.isPending}>
            Admit {displayName}
          </button>
        </form>
        <Act
          label="Refuse"
          confirm="sure"
          note="For 7 days, they can't request access again. They aren't informed."
          act={() => admin.identity.signInRequests.refuse(admin.tenantId, request.id, {})}
        />
      </div>
      {admit.isError && <ErrorNote error={admit.error} />}
    </>
  );
}

/**
 * Gives the person a principal with the role, using the administrator's own rights, and then an identity. If identity
 * refuses because somebody else has decided in the meantime, the principal is disabled again: nobody can sign in as it.
 */
async function admitRequest(
  { identity, tenantId, issuer }: Administration,
  { id, principalId, displayName, email }: Request,
  accessRole: string,
): Promise<void> {
  const { principal } = await baton.admissions.admitPerson({
    issuer,
    iamTenantId: tenantId,
    iamPrincipalId: principalId,
    displayName,
    email,
    accessRole,
  });
  try {
    await identity.signInRequests.admit(tenantId, id);
  } catch (error) {
    const isRefused = error instanceof BatonError && [404, 409].includes(error.status ?? 0);
    if (isRefused)
      await baton.principals.disable(principal.id, { reason: 'The sign-in request was not admitted.' });
    throw error;
  }
}

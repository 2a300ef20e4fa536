import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import { BatonError, type HarnessContext } from '@baton/sdk';
import { RoleChoice, roleCodes } from '../access/RoleChoice.tsx';
import { AdministrationGate } from '../administration/AdministrationGate.tsx';
import { type Administration, useAdministration } from '../administration/admin-secret.ts';
import { Act, readValues } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Form } from '../parts/Form.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { notify } from '../parts/Notices.tsx';
import styles from './inbox.module.css';
import { type SignInRequest, useSignInRequests } from './sign-in-requests.ts';

const usualRole = 'member';

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
        <Requests admin={admin} me={me} />
      )}
    </section>
  );
}

function Requests({ admin, me }: { admin: Administration; me: HarnessContext }) {
  const requests = useSignInRequests(me);
  if (requests.isError) return <ErrorNote error={requests.error} onRetry={() => void requests.refetch()} />;
  if (requests.data === undefined) return <Loading lines={2} />;
  const { items, hasMore } = requests.data;
  if (items.length === 0) return <p className="soft">No sign-in requests.</p>;
  return (
    <>
      <ul className="stack">
        {items.map((request) => (
          <li key={request.id} className="card stack">
            <RequestCard admin={admin} request={request} />
          </li>
        ))}
      </ul>
      {hasMore && <p className="soft">Newer requests are shown once these are decided.</p>}
    </>
  );
}

function RequestCard({ admin, request }: { admin: Administration; request: SignInRequest }) {
  const id = useId();
  const queries = useQueryClient();
  const admit = useMutation({
    mutationFn: (role: string) => admitRequest(admin, request, role),
    onSuccess: (_admitted, role) => notify(`${request.displayName} is admitted with the role ${role}.`),
    onSettled: () => {
      for (const queryKey of [['administration'], ['principals'], ['people']])
        void queries.invalidateQueries({ queryKey });
    },
  });
  const { displayName, email, emailVerified, identityProvider, createdAt } = request;
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
      <Form
        id={id}
        error={admit.error}
        fields={{ accessRole: 'role' }}
        codes={roleCodes}
        onSubmit={(form) => admit.mutate(readValues(form).text('role'))}
      >
        <RoleChoice label="Admit as" given={usualRole} isExplained />
      </Form>
      <div className="row">
        <button type="submit" form={id} className="primary" disabled={admit.isPending}>
          {admit.isPending ? `Admitting ${displayName} …` : `Admit ${displayName}`}
        </button>
        <Act
          label="Refuse"
          confirm="sure"
          note="For 7 days, they can't request access again. They aren't informed."
          act={() => admin.identity.signInRequests.refuse(admin.tenantId, request.id, {})}
        />
      </div>
    </>
  );
}

/**
 * Gives the person a principal with the role, using the administrator's own rights, and then an identity. If identity
 * refuses because somebody else has decided in the meantime, the principal is disabled again: nobody can sign in as it.
 */
async function admitRequest(
  { identity, tenantId, issuer }: Administration,
  { id, principalId, displayName, email }: SignInRequest,
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

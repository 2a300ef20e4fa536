import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isSignedOut, post, readAccount, signInProviders, signInThrough } from '../client.ts';
import { Field } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { passkeyNameIn, suggestPasskeyName } from '../passkeys/passkey-name.ts';
import { createPasskey, passkeyProblem, publicIdentity } from '../passkeys/webauthn.ts';
import styles from '../shell/sign-in.module.css';
import { useTitle } from '../shell/title.ts';
import { forgetInvitation, takeInvitation } from './invitation-secret.ts';

type Invitation = Awaited<ReturnType<typeof publicIdentity.invitations.read>>;

/** Accepts an invitation or a recovery link, with a new passkey or with a sign-in through a provider. */
export function InvitePage() {
  const [secret, setSecret] = useState(takeInvitation);
  useTitle('Invitation');
  useEffect(() => {
    // If this page is already open, opening another link does not reload it.
    const take = () => setSecret(takeInvitation());
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  return (
    <main className={styles.page}>
      <div className={`card ${styles.form}`}>
        {secret === undefined ? <NoSecret /> : <Opened key={secret} secret={secret} />}
      </div>
    </main>
  );
}

function NoSecret() {
  return (
    <>
      <h1>Open your link again</h1>
      <p>
        This page needs the complete link from your invitation. For your security, the link is removed from
        the address bar, so a reloaded page no longer has it.
      </p>
    </>
  );
}

function Opened({ secret }: { secret: string }) {
  const invitation = useQuery({
    // The secret must not enter the cache, so the key is only its public part; the page has one invitation at a time.
    queryKey: ['invitation', secret.slice(0, secret.lastIndexOf('_'))],
    queryFn: ({ signal }) => publicIdentity.invitations.read({ token: secret }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  if (invitation.isPending) return <Loading />;
  const { error } = invitation;
  if (error !== null && !isSignedOut(error))
    return (
      <>
        <h1>The invitation could not be loaded</h1>
        <ErrorNote error={error} onRetry={() => void invitation.refetch()} />
      </>
    );
  if (error !== null)
    return (
      <>
        <h1>This link is not valid</h1>
        <p>It was used, has expired or was revoked. Request a new one from the person who sent it.</p>
        <p>
          If you have used it yourself, <a href="/sign-in">sign in</a> with your passkey.
        </p>
        <p className="mono">{error.code}</p>
      </>
    );
  return <Accept secret={secret} invitation={invitation.data} />;
}

function Accept({ secret, invitation }: { secret: string; invitation: Invitation }) {
  const { kind, tenantName, displayName, invitedBy, message, role, expiresAt } = invitation;
  const isRecovery = kind === 'recovery';
  const problem = passkeyProblem();
  const account = useQuery({ queryKey: ['account'], queryFn: readAccount });
  const accept = useMutation({
    mutationFn: async (name: string) => {
      const options = await publicIdentity.invitations.getPasskeyOptions({ token: secret });
      await post<object>('invitation', { ...(await createPasskey(options)), invitation: secret, name });
    },
    onSuccess: () => {
      forgetInvitation();
      // A reload discards all data of the person who was signed in before.
      location.replace('/start');
    },
  });
  return (
    <>
      <h1>
        {isRecovery ? 'Welcome back, ' : 'Join '}
        <bdi>{isRecovery ? displayName : tenantName}</bdi>
      </h1>
      <p>
        {isRecovery ? (
          <>
            With this link you get access to <bdi>{tenantName}</bdi> again.
          </>
        ) : (
          <>
            {invitedBy === '' ? (
              'You are invited'
            ) : (
              <>
                <bdi>{invitedBy}</bdi> invites you
              </>
            )}{' '}
            as <bdi>{displayName}</bdi>
            {role !== null && (
              <>
                , with the role <bdi>{role}</bdi>
              </>
            )}
            .
          </>
        )}
      </p>
      {message !== '' && <blockquote className={`text ${styles.message}`}>{message}</blockquote>}
      {invitation.replacesCredentials && (
        <p>Your other passkeys are removed, and your other browsers are signed out.</p>
      )}
      {account.isSuccess && (
        <p role="note">
          This browser is already signed in. Accepting signs in <bdi>{displayName}</bdi> instead.
        </p>
      )}
      {problem === undefined ? (
        <Form error={accept.error} onSubmit={(form) => accept.mutate(passkeyNameIn(form))}>
          <p className="soft">
            A passkey is stored in your device or password manager. You use it by PIN, fingerprint or face,
            without a password.
          </p>
          <Field
            name="name"
            label="Name of the passkey"
            defaultValue={suggestPasskeyName()}
            maxLength={200}
          />
          <button type="submit" className="primary" disabled={accept.isPending} autoFocus>
            {accept.isPending ? 'Waiting for your device …' : 'Create a passkey'}
          </button>
        </Form>
      ) : (
        <PasskeyProblemNote problem={problem} fragment={`#${secret}`} />
      )}
      <Providers secret={secret} keys={invitation.identityProviders} />
      <p className="soft">
        The link works once. It expires <Moment at={expiresAt} />.
      </p>
    </>
  );
}

/** The providers of the tenant with which this console can sign people in. */
function Providers({ secret, keys }: { secret: string; keys: readonly string[] }) {
  const known = useQuery({ queryKey: ['providers'], queryFn: signInProviders });
  const redirect = useMutation({
    mutationFn: (provider: string) => signInThrough(provider, '/start', { invitation: secret }),
  });
  return (
    <>
      {known.data
        ?.filter((provider) => keys.includes(provider))
        .map((provider) => (
          <button
            key={provider}
            type="button"
            disabled={redirect.isPending}
            onClick={() => redirect.mutate(provider)}
          >
            Sign in with {provider}
          </button>
        ))}
      {redirect.isError && <ErrorNote error={redirect.error} />}
    </>
  );
}

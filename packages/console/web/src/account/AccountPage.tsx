import { useQuery } from '@tanstack/react-query';
import { readAccount } from '../client.ts';
import { BrowserNotifications } from '../notifications/BrowserNotifications.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { FirstPasskey } from './FirstPasskey.tsx';
import { OwnGrants } from './OwnGrants.tsx';
import { OwnPasskeys } from './OwnPasskeys.tsx';
import { OwnSessions } from './OwnSessions.tsx';

/** The query key of the person's own passkeys and sessions. */
export const accountKey = ['account'];

/** The passkeys, sessions and browser notifications of the signed-in person. */
export function AccountPage() {
  const account = useQuery({ queryKey: accountKey, queryFn: readAccount });
  return (
    <div className="page">
      <h1>Your account</h1>
      {account.isError && <ErrorNote error={account.error} onRetry={() => void account.refetch()} />}
      {account.isPending && <Loading lines={4} />}
      {account.data?.signedInBy === 'session' && (
        <>
          <OwnPasskeys passkeys={account.data.passkeys} />
          <OwnSessions {...account.data} />
          <OwnGrants grants={account.data.grants} />
        </>
      )}
      {account.data?.signedInBy === 'token' &&
        (account.data.mayAddPasskey ? (
          <FirstPasskey />
        ) : (
          <NoSession by="a token or a code from `baton console`" />
        ))}
      <BrowserNotifications />
    </div>
  );
}

function NoSession({ by }: { by: string }) {
  return (
    <div className="card stack">
      <p>
        You signed in with {by}. Your passkeys and your sessions are shown after a sign-in with a passkey.{' '}
        <a href="/sign-in?next=%2Faccount">Sign in with a passkey</a>
      </p>
      <p>
        You have no passkey yet? An administrator creates a recovery link for you in{' '}
        <a href="/administration">Administration</a>. Open it in the browser in which you want to sign in.
      </p>
    </div>
  );
}

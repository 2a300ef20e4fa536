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
          <NoSession by="a token, or with an address that was created with one" />
        ))}
      <BrowserNotifications />
    </div>
  );
}

function NoSession({ by }: { by: string }) {
  return (
    <div className="card stack">
      <p>
        You signed in with {by}. <a href="/sign-in?next=%2Faccount">Sign in with a passkey</a> to see your
        passkeys, browsers and connected programs.
      </p>
      <h2>If you have no passkey yet</h2>
      <p>
        Open a recovery link in this browser. An administrator creates it on your page in{' '}
        <a href="/people">People and agents</a>; on Baton's machine,{' '}
        <code className="mono">baton console --passkey</code> creates one for its administrator.
      </p>
    </div>
  );
}

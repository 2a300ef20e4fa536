import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ErrorNote } from '../parts/Notes.tsx';
import { isSignInTooOld } from '../passkeys/fresh-sign-in.ts';
import { meQuery } from '../queries.ts';
import { isKeptLocked, openOwnAdministration, type Renew } from './admin-secret.ts';
import styles from './administration.module.css';
import { SecretGate } from './SecretGate.tsx';

/**
 * Focuses a button that appears after its dialog has focused its first control, unless the person is already using the
 * admin secret.
 */
function focusInDialog(button: HTMLButtonElement | null): void {
  const isUsed = document.activeElement?.closest('details[open]') != null;
  if (button?.closest('[role="dialog"]') && !isUsed) button.focus();
}

const atOnce: Renew = (request) => request();

/** Unlocks the administration with the sign-in of an administrator, or otherwise with the admin secret. */
export function AdministrationGate() {
  const me = useQuery(meQuery).data;
  if (me === undefined) return null;
  return (
    <div className={`stack ${styles.gate}`}>
      {me.permissions.includes('admin') ? (
        <OwnSignIn />
      ) : (
        <p>
          People, agents and credentials are managed in the identity service. That requires the permission{' '}
          <code className="mono">admin</code>, or the admin secret.
        </p>
      )}
      <details>
        <summary>Use the admin secret</summary>
        <SecretGate />
      </details>
    </div>
  );
}

/** Tries the current sign-in first, without prompting, unless the person has just locked the administration. */
function OwnSignIn() {
  const [error, setError] = useState<unknown>();
  const hasTried = useRef(isKeptLocked());
  const [isBusy, setBusy] = useState(!hasTried.current);

  async function unlock(renew?: Renew) {
    setBusy(true);
    setError(undefined);
    try {
      await openOwnAdministration(renew);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }

  useEffect(() => {
    if (!hasTried.current) void unlock(atOnce);
    hasTried.current = true;
  });

  if (isBusy) return <p role="status">Unlocking …</p>;
  if (error === undefined)
    return (
      <>
        <p>You have locked the administration.</p>
        <div className="row">
          <button type="button" className="primary" onClick={() => void unlock(atOnce)}>
            Unlock with your sign-in
          </button>
        </div>
      </>
    );
  if (!isSignInTooOld(error))
    return (
      <>
        <ErrorNote error={error} />
        <div className="row">
          <button type="button" onClick={() => void unlock(atOnce)}>
            Try again
          </button>
        </div>
      </>
    );
  return (
    <>
      <p>
        Managing people, agents and credentials requires a sign-in within the last five minutes, by a passkey
        or an identity provider. It stays unlocked until five minutes after that sign-in.
      </p>
      <div className="row">
        <button ref={focusInDialog} type="button" className="primary" onClick={() => void unlock()}>
          Confirm that it's you
        </button>
        <a href={`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`}>Sign in again</a>
      </div>
      <p className="soft">
        If you have no passkey yet, see <a href="/account">your account</a>.
      </p>
    </>
  );
}

import { useLocation } from '@tanstack/react-router';
import { BatonError } from '@baton/sdk';
import { isSignedOut } from '../client.ts';
import styles from './shell.module.css';

/** A banner above a page whose data may be stale: this person is signed out, or Baton is unreachable. */
export function ConnectionBanner({ error }: { error: unknown }) {
  const { href } = useLocation();
  const { code, requestId } = error instanceof BatonError ? error : {};
  const isOut = isSignedOut(error);
  return (
    <div className={styles.trouble} role="alert">
      {isOut ? (
        <p>
          You are signed out. Text in the fields of this page is kept until you leave it.{' '}
          <a href={`/sign-in?next=${encodeURIComponent(href)}`}>Sign in again</a>
        </p>
      ) : (
        <p>Baton is not responding. This page shows its last known data and reconnects automatically.</p>
      )}
      <p className="mono">{[code, requestId].filter(Boolean).join(' · ')}</p>
    </div>
  );
}

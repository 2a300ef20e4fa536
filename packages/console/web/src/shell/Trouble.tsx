import { useLocation } from '@tanstack/react-router';
import { BatonError } from '@baton/sdk';
import { isSignedOut } from '../client.ts';
import styles from './shell.module.css';

/** Above a page that goes on to show what it knows: that this person is signed out, or that Baton does not answer. */
export function Trouble({ error }: { error: unknown }) {
  const { href } = useLocation();
  const { code, requestId } = error instanceof BatonError ? error : {};
  const isOut = isSignedOut(error);
  return (
    <div className={styles.trouble} role="alert">
      {isOut ? (
        <p>
          You are signed out. What stands in fields here is kept until you leave this page.{' '}
          <a href={`/sign-in?next=${encodeURIComponent(href)}`}>Sign in again</a>
        </p>
      ) : (
        <p>Baton does not answer. This page shows what it knew before, and goes on by itself.</p>
      )}
      <p className="mono">{[code, requestId].filter(Boolean).join(' · ')}</p>
    </div>
  );
}

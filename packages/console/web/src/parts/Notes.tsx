import { type ReactNode, useEffect, useState } from 'react';
import { BatonError } from '@baton/sdk';
import styles from './notes.module.css';

/** What a form lacks before it can be sent, in words for the person. */
export class FormProblem extends Error {}

/** An error, with its code to look up and the request ID for the operator. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { code, requestId, message } =
    error instanceof BatonError
      ? error
      : {
          code: undefined,
          requestId: undefined,
          message: error instanceof FormProblem ? error.message : 'Something went wrong. Reload the page.',
        };
  return (
    <div className={styles.error} role="alert">
      <p>{message}</p>
      {reasonsIn(error).length > 0 && (
        <ul>
          {reasonsIn(error).map(({ path, message: reason }) => (
            <li key={path + reason} className="text">
              {path !== '' && <span className="mono">{path}</span>} {reason}
            </li>
          ))}
        </ul>
      )}
      <p className="mono">{[code, requestId].filter(Boolean).join(' · ')}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

const reasonsMax = 5;

/** The errors in the submitted document that the response lists. */
function reasonsIn(error: unknown): { readonly path: string; readonly message: string }[] {
  const errors = error instanceof BatonError ? error.details['errors'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, reasonsMax).map(({ path, message }: { path?: unknown; message?: unknown }) => ({
    path: typeof path === 'string' ? path : '',
    message: String(message),
  }));
}

/** An empty state, with the next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Shown after 300 ms, so that faster responses don't flicker. */
export function Loading({ lines = 3 }: { lines?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles.loading} role="status" aria-label="Loading">
      {isLate && Array.from({ length: lines }, (_, line) => <div key={line} className={styles.bar} />)}
    </div>
  );
}

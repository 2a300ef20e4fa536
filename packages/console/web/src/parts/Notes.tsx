import { type ReactNode, useEffect, useState } from 'react';
import { BatonError } from '@baton/sdk';
import { type Fault, FormProblem, faultsIn, textOf } from './form-faults.ts';
import styles from './notes.module.css';

/** An error, with its code to look up and the request ID for the operator. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { code, requestId } = error instanceof BatonError ? error : { code: undefined, requestId: undefined };
  const message = messageOf(error);
  const faults = error instanceof BatonError ? faultsIn(error).slice(0, faultsMax) : [];
  return (
    <div className={styles.error} role="alert">
      <p>{message}</p>
      {faults.length > 0 && (
        <ul>
          {faults.map((fault, place) => (
            <FaultLine key={place} fault={fault} summary={message} />
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

const faultsMax = 5;

function messageOf(error: unknown): string {
  if (error instanceof FormProblem) return error.message;
  if (!(error instanceof BatonError)) return 'Something went wrong. Reload the page.';
  // The client's message repeats the list of problems, which is shown below it.
  return error.details['problems'] === undefined ? textOf(error) : 'These values were refused:';
}

/** A rejected value. If the service names only the field, its message equals the summary and isn't repeated. */
function FaultLine({ fault: { path, message }, summary }: { fault: Fault; summary: string }) {
  return (
    <li className="text">
      {path !== '' && <span className="mono">{path}</span>} {message !== summary && message}
    </li>
  );
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

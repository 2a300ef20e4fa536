import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import {
  cancelConnection,
  describeConnected,
  type FirstCall,
  type IssuedConnection,
  waitForFirstCall,
} from '@baton/sdk/connect';
import type { Administration } from '../administration/admin-secret.ts';
import { baton } from '../client.ts';
import { Instant } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import type { Issued } from './ConnectDialog.tsx';
import styles from './connect.module.css';

const waitMs = 600_000;
const copiedMs = 2_000;

interface ConnectionProps {
  readonly issued: Issued;
  /** Undefined after the administration has been locked again. */
  readonly administration: Administration | undefined;
  onClose(): void;
}

/** The configuration to paste, which is shown once, and whether the agent has called. */
export function Connection({ issued: { connection, snippet }, administration, onClose }: ConnectionProps) {
  const { found, error, again } = useFirstCall(connection);
  const cancel = useMutation({
    mutationFn: async () => {
      if (administration === undefined) throw new Error('the administration is locked');
      await cancelConnection({ baton, administration }, connection);
    },
    onSuccess: onClose,
  });
  const isConnected = found?.state === 'connected';
  return (
    <>
      <p>
        Paste this into {snippet.file}. It contains the agent's token, which you won't be able to see again:
        keep it out of repositories.
      </p>
      <pre className={styles.snippet} tabIndex={0} aria-label="Configuration to paste">
        <code>{snippet.text}</code>
      </pre>
      <div className="row">
        <Copy text={snippet.text} />
      </div>
      <p>{snippet.nextStep}</p>
      {isLocal() && (
        <p className="soft">
          {location.origin} is an address of this machine. For an agent on another machine, open the console
          at the address by which that machine reaches Baton.
        </p>
      )}
      <p className={isConnected ? styles.connected : styles.waiting} role="status">
        {found === undefined ? (
          'Waiting for the first call …'
        ) : (
          <Outcome found={found} connection={connection} />
        )}
      </p>
      {error !== undefined && <ErrorNote error={error} onRetry={again} />}
      {cancel.isError && (
        <div className={`stack ${styles.refusal}`} role="alert">
          <p>
            The token could not be revoked and remains valid: revoke <q>connect</q> of{' '}
            {connection.displayName} in Administration, Tokens.
          </p>
        </div>
      )}
      <div className="row">
        <button type="button" className={isConnected ? 'primary' : undefined} onClick={onClose}>
          Done
        </button>
        {found?.state === 'waiting' && (
          <button type="button" onClick={again}>
            Wait again
          </button>
        )}
        {!isConnected && (
          <button type="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel and revoke the token
          </button>
        )}
      </div>
    </>
  );
}

function Outcome({
  found,
  connection: { displayName, expiresAt },
}: {
  found: FirstCall;
  connection: IssuedConnection;
}) {
  if (found.state === 'connected') return describeConnected(displayName, found.client);
  if (found.state === 'removed') return 'The agent has been retired or disabled in the meantime.';
  if (found.state === 'expired') return 'The token expired before a call arrived.';
  return (
    <>
      No call has arrived within 10 minutes. The token remains valid until <Instant at={expiresAt} />.
    </>
  );
}

/** Waits for the first call while the dialog is open. `found` is undefined until then. */
function useFirstCall(connection: IssuedConnection) {
  const [round, setRound] = useState(0);
  const [found, setFound] = useState<FirstCall>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const closing = new AbortController();
    const { signal } = closing;
    setFound(undefined);
    setError(undefined);
    waitForFirstCall(baton, connection, { waitMs, signal }).then(
      (state) => signal.aborted || setFound(state),
      (failure: unknown) => signal.aborted || setError(failure),
    );
    return () => closing.abort();
  }, [connection, round]);
  return { found, error, again: () => setRound(round + 1) };
}

function Copy({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      className="primary"
      autoFocus
      onClick={() =>
        void navigator.clipboard?.writeText(text).then(
          () => setCopied(true),
          () => undefined,
        )
      }
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}

/** Whether other machines can't reach this address. */
function isLocal(): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
}

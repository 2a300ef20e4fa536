import { type SubmitEvent, useState } from 'react';
import { BatonError } from '@baton/sdk';
import { ErrorNote } from '../parts/Notes.tsx';
import { openAdministration } from './admin-secret.ts';
import styles from './administration.module.css';

/** Asks for the admin secret. The field is emptied at once, whatever comes of it. */
export function SecretGate() {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  async function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const secret = String(new FormData(form).get('secret')).trim();
    form.reset();
    setBusy(true);
    setError(undefined);
    try {
      await openAdministration(secret);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form className={`card stack ${styles.gate}`} onSubmit={(event) => void onSubmit(event)}>
      <p>
        Who may enter, and with what, is kept by identity, which asks for the admin secret.{' '}
        <code className="mono">baton env</code> prints it where Baton runs, as{' '}
        <code className="mono">BATON_IAM_BOOTSTRAP_TOKEN</code>.
      </p>
      <label className="stack">
        <span>Admin secret</span>
        <input
          name="secret"
          type="password"
          autoComplete="off"
          spellCheck={false}
          maxLength={4096}
          required
          autoFocus
        />
      </label>
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Asking identity …' : 'Open'}
        </button>
      </div>
      {error !== undefined && (
        <>
          {error instanceof BatonError && error.status === 401 && <p>This is not the admin secret.</p>}
          <ErrorNote error={error} />
        </>
      )}
      <p className="soft">
        It stays in the memory of this page until you sign out, load the page again, or are away for 15
        minutes.
      </p>
    </form>
  );
}

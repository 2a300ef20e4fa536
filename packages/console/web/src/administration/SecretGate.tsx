import { useState } from 'react';
import { BatonError } from '@baton/sdk';
import { Field } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { openAdministration } from './admin-secret.ts';
import styles from './administration.module.css';

/** Prompts for the admin secret. The field is cleared on submit, whether or not the secret is valid. */
export function SecretGate() {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  async function onSubmit(form: HTMLFormElement) {
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
    <Form
      className={`stack ${styles.gate}`}
      error={error}
      note={(refused) => (
        <>
          {refused instanceof BatonError && refused.status === 401 && <p>The admin secret is incorrect.</p>}
          <ErrorNote error={refused} />
        </>
      )}
      onSubmit={(form) => void onSubmit(form)}
    >
      <p>
        Run <code className="mono">baton env</code> on Baton's host to print the secret as{' '}
        <code className="mono">BATON_IAM_BOOTSTRAP_TOKEN</code>. What is done with it is audited without a
        person's name.
      </p>
      <Field name="secret" label="Admin secret" type="password" maxLength={4096} required />
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Verifying …' : 'Unlock'}
        </button>
      </div>
      <p className="soft">
        This page keeps the secret in memory until you sign out, reload the page, or are inactive for 15
        minutes.
      </p>
    </Form>
  );
}

import { useMutation } from '@tanstack/react-query';
import type { SubmitEvent } from 'react';
import { post } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { suggestPasskeyName } from '../passkeys/passkey-name.ts';
import { createPasskey, passkeyProblem, publicIdentity } from '../passkeys/webauthn.ts';
import styles from './account.module.css';

/** The first passkey of somebody who has just signed in through the address that Baton printed. */
export function FirstPasskey() {
  const problem = passkeyProblem();
  const add = useMutation({
    mutationFn: async (name: string) => {
      const { invitation } = await post<{ invitation: string }>('first-passkey');
      const options = await publicIdentity.invitations.getPasskeyOptions({ token: invitation });
      await post<object>('invitation', { ...(await createPasskey(options)), invitation, name });
    },
    // The page continues with the session of the passkey.
    onSuccess: () => location.reload(),
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    add.mutate(String(new FormData(event.currentTarget).get('name')).trim() || suggestPasskeyName());
  }
  return (
    <section className="card stack" aria-labelledby="first-passkey">
      <h2 id="first-passkey">Add your first passkey</h2>
      <p>
        You signed in with the address that Baton printed. With a passkey you sign in by PIN, fingerprint or
        face, and no longer need that address. It can be added within five minutes of the sign-in.
      </p>
      {problem === undefined ? (
        <form className={styles.add} onSubmit={onSubmit}>
          <label className={styles.field}>
            <span>Name of the passkey</span>
            <input name="name" defaultValue={suggestPasskeyName()} maxLength={200} autoComplete="off" />
          </label>
          <button type="submit" className="primary" disabled={add.isPending}>
            {add.isPending ? 'Waiting for your device …' : 'Add a passkey'}
          </button>
        </form>
      ) : (
        <PasskeyProblemNote problem={problem} />
      )}
      {add.isError && <ErrorNote error={add.error} />}
    </section>
  );
}

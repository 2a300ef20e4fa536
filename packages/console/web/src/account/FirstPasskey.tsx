import { useMutation } from '@tanstack/react-query';
import { post } from '../client.ts';
import { Field } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { passkeyNameIn, suggestPasskeyName } from '../passkeys/passkey-name.ts';
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
  return (
    <section className="card stack" aria-labelledby="first-passkey">
      <h2 id="first-passkey">Add your first passkey</h2>
      <p>
        You signed in with the address that Baton printed. With a passkey you sign in by PIN, fingerprint or
        face, and no longer need that address. It can be added within five minutes of the sign-in.
      </p>
      {problem === undefined ? (
        <Form className={styles.add} error={add.error} onSubmit={(form) => add.mutate(passkeyNameIn(form))}>
          <Field
            name="name"
            label="Name of the passkey"
            defaultValue={suggestPasskeyName()}
            maxLength={200}
          />
          <button type="submit" className="primary" disabled={add.isPending}>
            {add.isPending ? 'Waiting for your device …' : 'Add a passkey'}
          </button>
        </Form>
      ) : (
        <PasskeyProblemNote problem={problem} />
      )}
    </section>
  );
}

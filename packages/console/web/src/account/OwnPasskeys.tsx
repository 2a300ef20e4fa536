import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Passkey, post } from '../client.ts';
import { Field } from '../parts/Field.tsx';
import { Form } from '../parts/Form.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { withFreshSignIn } from '../passkeys/fresh-sign-in.ts';
import { PasskeyFacts } from '../passkeys/PasskeyFacts.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { passkeyNameIn, suggestPasskeyName } from '../passkeys/passkey-name.ts';
import { createPasskey, passkeyProblem } from '../passkeys/webauthn.ts';
import styles from './account.module.css';

type Options = Parameters<typeof createPasskey>[0];

/** Adds, renames and removes the person's own passkeys. */
export function OwnPasskeys({ passkeys }: { passkeys: readonly Passkey[] }) {
  const queries = useQueryClient();
  const problem = passkeyProblem();
  const add = useMutation({
    mutationFn: async (name: string) => {
      const options = await withFreshSignIn(() => post<Options>('passkeys', { act: 'options' }));
      await post<object>('passkeys', { act: 'register', name, ...(await createPasskey(options)) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['account'] }),
  });
  return (
    <section className="stack" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      {passkeys.length === 0 ? (
        <p className="soft">
          None. With a passkey you can also sign in without your identity provider, and confirm changes in
          administration.
        </p>
      ) : (
        <ul className={table.lines}>
          {passkeys.map((passkey) => (
            <Line key={passkey.id} passkey={passkey} isLast={passkeys.length === 1} />
          ))}
        </ul>
      )}
      {problem === undefined ? (
        <Form className={styles.add} error={add.error} onSubmit={(form) => add.mutate(passkeyNameIn(form))}>
          <Field
            name="name"
            label="Name of the new passkey"
            defaultValue={suggestPasskeyName()}
            maxLength={200}
          />
          <button type="submit" disabled={add.isPending}>
            {add.isPending ? 'Waiting for your device …' : 'Add a passkey'}
          </button>
        </Form>
      ) : (
        <PasskeyProblemNote problem={problem} />
      )}
    </section>
  );
}

function Line({ passkey, isLast }: { passkey: Passkey; isLast: boolean }) {
  const queries = useQueryClient();
  const [open, setOpen] = useState<'name' | 'remove'>();
  const change = useMutation({
    mutationFn: (fields: { act: 'rename' | 'remove'; name?: string }) =>
      withFreshSignIn(() => post<object>('passkeys', { id: passkey.id, ...fields })),
    onSuccess: async () => {
      setOpen(undefined);
      // If the passkey was removed, this browser may now be signed out.
      await queries.invalidateQueries({ queryKey: ['me'] });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['account'] }),
  });
  return (
    <li className={table.line}>
      <div className={table.main}>
        <p className={styles.title}>{passkey.name}</p>
        <PasskeyFacts passkey={passkey} />
      </div>
      <div className="row">
        {open === undefined && (
          <>
            <button type="button" aria-label={`Rename ${passkey.name}`} onClick={() => setOpen('name')}>
              Rename
            </button>
            <button type="button" aria-label={`Remove ${passkey.name}`} onClick={() => setOpen('remove')}>
              Remove …
            </button>
          </>
        )}
      </div>
      {open === 'name' && (
        <Form
          className={`${table.wide} ${styles.add}`}
          error={change.error}
          onSubmit={(form) => change.mutate({ act: 'rename', name: passkeyNameIn(form) })}
        >
          <Field
            name="name"
            label="Name of the passkey"
            defaultValue={passkey.name}
            required
            maxLength={200}
            autoFocus
          />
          <button type="submit" className="primary" disabled={change.isPending}>
            Save
          </button>
          <button type="button" onClick={() => setOpen(undefined)}>
            Cancel
          </button>
        </Form>
      )}
      {open === 'remove' && (
        <div className={`stack ${table.wide}`}>
          <p>
            {isLast
              ? 'This is your only passkey. You can remove it only if you can sign in with an identity provider.'
              : 'You can no longer sign in with this passkey. Browsers that signed in with it are signed out.'}
          </p>
          <div className="row">
            <button
              type="button"
              className={styles.danger}
              disabled={change.isPending}
              autoFocus
              onClick={() => change.mutate({ act: 'remove' })}
            >
              Remove
            </button>
            <button type="button" onClick={() => setOpen(undefined)}>
              Cancel
            </button>
          </div>
        </div>
      )}
      {change.isError && open !== 'name' && (
        <div className={table.wide}>
          <ErrorNote error={change.error} />
        </div>
      )}
    </li>
  );
}

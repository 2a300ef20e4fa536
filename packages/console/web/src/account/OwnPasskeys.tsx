import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { type Passkey, post } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import table from '../parts/table.module.css';
import { withFreshSignIn } from '../passkeys/fresh-sign-in.ts';
import { PasskeyFacts } from '../passkeys/PasskeyFacts.tsx';
import { PasskeyProblemNote } from '../passkeys/PasskeyProblemNote.tsx';
import { suggestPasskeyName } from '../passkeys/passkey-name.ts';
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
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    add.mutate(String(new FormData(event.currentTarget).get('name')).trim() || suggestPasskeyName());
  }
  return (
    <section className="stack" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <ul className={table.lines}>
        {passkeys.map((passkey) => (
          <Line key={passkey.id} passkey={passkey} isLast={passkeys.length === 1} />
        ))}
      </ul>
      {problem === undefined ? (
        <form className={styles.add} onSubmit={onSubmit}>
          <label className={styles.field}>
            <span>Name of the new passkey</span>
            <input name="name" defaultValue={suggestPasskeyName()} maxLength={200} autoComplete="off" />
          </label>
          <button type="submit" disabled={add.isPending}>
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
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name')).trim();
    if (name !== '') change.mutate({ act: 'rename', name });
  }
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
        <form className={`row ${table.wide}`} onSubmit={onSubmit}>
          <input
            name="name"
            aria-label="Name of the passkey"
            defaultValue={passkey.name}
            maxLength={200}
            autoComplete="off"
            autoFocus
          />
          <button type="submit" className="primary" disabled={change.isPending}>
            Save
          </button>
          <button type="button" onClick={() => setOpen(undefined)}>
            Cancel
          </button>
        </form>
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
      {change.isError && (
        <div className={table.wide}>
          <ErrorNote error={change.error} />
        </div>
      )}
    </li>
  );
}

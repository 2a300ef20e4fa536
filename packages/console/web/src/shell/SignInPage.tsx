import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { BatonError } from '@baton/sdk';
import { type Given, signIn } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { localPath } from './local-path.ts';
import { Providers } from './Providers.tsx';
import styles from './sign-in.module.css';
import { useTitle } from './title.ts';

/** Takes the code out of the address, where no history and no server keeps it: it stands behind the `#`. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Signs in by the code in the address, or by a personal access token. */
export function SignInPage() {
  const [error, setError] = useState<unknown>();
  /** The code of somebody else than this browser is signed in as. */
  const [others, setOthers] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const hasBegun = useRef(false);
  useTitle('Sign in');

  // Loaded again, the page holds nothing of who was here before.
  const leave = () => location.replace(localPath(new URLSearchParams(location.search).get('next')));

  async function enter(given: Given) {
    setBusy(true);
    setError(undefined);
    try {
      await signIn(given);
      leave();
    } catch (failure) {
      const isOthers = failure instanceof BatonError && String(failure.code) === 'signed_in_as_other';
      if (isOthers && 'code' in given) setOthers(given.code);
      else setError(failure);
    } finally {
      setBusy(false);
    }
  }

  useEffect(() => {
    function begin() {
      const code = takeCode();
      if (code !== undefined) void enter({ code });
    }
    if (!hasBegun.current) begin();
    hasBegun.current = true;
    // Where this page is open already, an address with a code does not load it again.
    addEventListener('hashchange', begin);
    return () => removeEventListener('hashchange', begin);
  });

  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const token = String(new FormData(form).get('token')).trim();
    form.reset();
    if (token !== '') void enter({ token });
  }

  if (others !== undefined)
    return (
      <main className={styles.page}>
        <div
          className={`card ${styles.form}`}
          role="alertdialog"
          aria-labelledby="others"
          aria-describedby="why"
        >
          <h1 id="others">Sign in as somebody else?</h1>
          <p id="why">
            This browser is signed in already. The address that you opened signs in its owner instead: go on
            only if you made it yourself.
          </p>
          <div className="row">
            <button type="button" className="primary" autoFocus onClick={leave}>
              Stay signed in
            </button>
            <button
              type="button"
              disabled={isBusy}
              onClick={() => void enter({ code: others, replace: 'yes' })}
            >
              Sign in as its owner
            </button>
          </div>
          {error !== undefined && <ErrorNote error={error} />}
        </div>
      </main>
    );
  return (
    <main className={styles.page}>
      <form className={`card ${styles.form}`} onSubmit={onSubmit}>
        <h1>Sign in to Baton</h1>
        <Providers />
        <p>
          Run <code className="mono">baton console</code> where Baton runs: it opens this page and signs you
          in.
        </p>
        <label className="stack">
          <span>Or a personal access token</span>
          <input
            name="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            maxLength={4096}
            required
          />
        </label>
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Signing in …' : 'Sign in'}
        </button>
        {error !== undefined && <ErrorNote error={error} />}
        <p className="soft">The token is not kept in this browser.</p>
      </form>
    </main>
  );
}

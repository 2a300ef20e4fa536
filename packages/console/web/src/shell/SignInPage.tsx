import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { BatonError } from '@baton/sdk';
import { type Given, signIn } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { localPath } from './local-path.ts';
import { PasskeyButton } from './PasskeyButton.tsx';
import { Problem, Providers } from './Providers.tsx';
import styles from './sign-in.module.css';
import { useTitle } from './title.ts';

/** Removes the code from the URL. As a fragment, it is neither sent to the server nor kept in the history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Signs in with the code in the URL, a passkey, an identity provider, or a personal access token. */
export function SignInPage() {
  const [error, setError] = useState<unknown>();
  /** A code that belongs to somebody other than the signed-in person. */
  const [others, setOthers] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const hasBegun = useRef(false);
  useTitle('Sign in');

  // A reload discards all data of the previous person.
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
    // If this page is already open, a URL with a code does not reload it.
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
          <h1 id="others">Switch account?</h1>
          <p id="why">
            This browser is already signed in. The link that you opened signs in the person who created it.
            Continue only if you created it yourself.
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
              Switch account
            </button>
          </div>
          {error !== undefined && <ErrorNote error={error} />}
        </div>
      </main>
    );
  return (
    <main className={styles.page}>
      <div className={`card ${styles.form}`}>
        <h1>Sign in to Baton</h1>
        <Problem />
        <PasskeyButton onSignedIn={leave} />
        <Providers />
        {error !== undefined && <ErrorNote error={error} />}
        <p className="soft">
          If you are new here or have lost your passkey, request a link from an administrator and open it in
          this browser.
        </p>
        <details>
          <summary>Other ways to sign in</summary>
          <form className="stack" onSubmit={onSubmit}>
            <p>
              Run <code className="mono">baton console</code> on Baton's host to open this page and sign in.
            </p>
            <label className="stack">
              <span>Personal access token</span>
              <input
                name="token"
                type="password"
                autoComplete="off"
                spellCheck={false}
                maxLength={4096}
                required
              />
            </label>
            <button type="submit" disabled={isBusy}>
              {isBusy ? 'Signing in …' : 'Sign in with the token'}
            </button>
            <p className="soft">The token is not stored in this browser.</p>
          </form>
        </details>
      </div>
    </main>
  );
}

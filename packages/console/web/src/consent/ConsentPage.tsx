import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useState } from 'react';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { withFreshSignIn } from '../passkeys/fresh-sign-in.ts';
import styles from './consent.module.css';
import {
  decideRequest,
  forgetWanted,
  type OauthRequest,
  placesOf,
  readRequest,
  rightOf,
  takeWanted,
  type Wanted,
} from './oauth-request.ts';

/** Here the signed-in person decides whether a program or a device gets access, however they signed in. */
export function ConsentPage() {
  const [wanted, setWanted] = useState(takeWanted);
  useEffect(() => {
    // If this page is already open, another request does not reload it.
    const take = () => setWanted(takeWanted());
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  return (
    <div className="page">
      {wanted === undefined || ('userCode' in wanted && wanted.userCode === '') ? (
        <CodeForm onCode={(userCode) => setWanted({ userCode })} />
      ) : (
        <Request key={JSON.stringify(wanted)} wanted={wanted} onOther={() => setWanted(undefined)} />
      )}
    </div>
  );
}

function CodeForm({ onCode }: { onCode(code: string): void }) {
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code')).trim();
    if (code !== '') onCode(code);
  }
  return (
    <>
      <h1>Connect a device</h1>
      <form className="stack" onSubmit={onSubmit}>
        <label className="stack">
          <span>Code that the device shows</span>
          <input name="code" autoFocus autoComplete="off" spellCheck={false} maxLength={20} required />
        </label>
        <div className="row">
          <button type="submit" className="primary">
            Continue
          </button>
        </div>
      </form>
    </>
  );
}

function Request({ wanted, onOther }: { wanted: Wanted; onOther(): void }) {
  const [actsAs, setActsAs] = useState('');
  const found = useQuery({
    // The key contains only the end of the request, which is unique and useless alone, so that the data of another
    // request is never shown for this one.
    queryKey: ['oauth-request', JSON.stringify(wanted).slice(-40), actsAs],
    queryFn: () => readRequest(wanted, actsAs),
    placeholderData: (former) => former,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const decision = useMutation({
    mutationFn: (act: 'allow' | 'deny') => {
      // Exactly the scopes that the page shows: the organisation may have offered more since.
      const shown = found.data?.scopes ?? [];
      return withFreshSignIn(() => decideRequest(wanted, act, { principalId: actsAs, scopes: shown }));
    },
    onSuccess({ redirectTo }) {
      forgetWanted();
      if (redirectTo !== null) location.replace(redirectTo);
    },
  });
  function again() {
    forgetWanted();
    onOther();
  }
  if (decision.isSuccess)
    return <Done act={decision.variables} isReturning={decision.data.redirectTo !== null} />;
  if (found.error !== null)
    return (
      <>
        <h1>The request can't be shown</h1>
        <ErrorNote error={found.error} />
        {String((found.error as { code?: unknown }).code) === 'browser_session_required' && (
          <p>
            <a href="/sign-in?next=%2Fconsent">Sign in with a passkey or an identity provider</a>
          </p>
        )}
        <p>If it has expired, start again from your program or device.</p>
        <div className="row">
          <button type="button" onClick={again}>
            Enter the code of a device
          </button>
        </div>
      </>
    );
  if (found.data === undefined) return <Loading lines={4} />;
  const { client, device, agents, person } = found.data;
  return (
    <>
      <h1>Allow {client.name} to use Baton?</h1>
      <div className="card stack">
        <Facts request={found.data} />
        {client.kind === 'document' && (
          <p className={styles.note}>
            The program chose this name itself. Allow it only if you have just started it and know{' '}
            {client.host}.
          </p>
        )}
        {device !== null && (
          <p className={styles.note}>
            Allow this only if you started it yourself on that device. Nobody from Baton ever sends you a
            code.
          </p>
        )}
        {agents.length > 0 && (
          <label className="stack">
            <span>It acts as</span>
            <select value={actsAs} onChange={(event) => setActsAs(event.currentTarget.value)}>
              <option value="">{person.name} (you)</option>
              {agents.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name} (agent)
                </option>
              ))}
            </select>
          </label>
        )}
        <p>It gets these rights:</p>
        <ul>
          {found.data.scopes.map((scope) => (
            <li key={scope}>{rightOf(scope)}</li>
          ))}
        </ul>
        <p>{found.isPlaceholderData ? 'Reading the workspaces …' : placesOf(found.data.workspaces)}</p>
        {decision.isError && <ErrorNote error={decision.error} />}
        <div className="row">
          <button
            type="button"
            className="primary"
            disabled={decision.isPending || found.isPlaceholderData}
            onClick={() => decision.mutate('allow')}
          >
            Allow
          </button>
          <button type="button" disabled={decision.isPending} onClick={() => decision.mutate('deny')}>
            Refuse
          </button>
        </div>
      </div>
    </>
  );
}

function Facts({ request }: { request: OauthRequest }) {
  const { client, device, tenant, service, agents, person } = request;
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['Program', client.name],
    ['Published by', client.host],
    ['Sends you to', client.redirectHost],
    ['Requested from', device?.address],
    ['Device', device && (device.userAgent || 'unknown')],
    ['Organisation', tenant.name],
    ['Service', service],
    ['It acts as', agents.length === 0 ? `${person.name} (you)` : undefined],
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
      {device !== null && (
        <div>
          <dt>Requested</dt>
          <dd>
            <Moment at={device.requestedAt} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function Done({ act, isReturning }: { act: 'allow' | 'deny'; isReturning: boolean }) {
  if (isReturning) return <h1>Returning to the program</h1>;
  return act === 'allow' ? (
    <>
      <h1>Connected</h1>
      <p>Return to your device. You can close this page.</p>
    </>
  ) : (
    <>
      <h1>Refused</h1>
      <p>The device gets no access. You can close this page.</p>
    </>
  );
}

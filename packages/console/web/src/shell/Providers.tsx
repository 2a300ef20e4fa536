import { useMutation, useQuery } from '@tanstack/react-query';
import { signInProviders, signInThrough } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { localPath } from './local-path.ts';

/** Messages for the error codes of a failed sign-in, which the URL holds. */
const problems: Readonly<Record<string, string>> = {
  sign_in_expired: 'This sign-in was already used or took longer than ten minutes. Try again.',
  sign_in_of_another: 'This sign-in was started in another browser. Start again in this one.',
  provider_refused: 'The identity provider rejected the sign-in.',
  identity_provider_not_found: 'This identity provider is disabled or was removed.',
  identity_provider_unavailable: 'The identity provider is unavailable. Try again later.',
  admission_pending:
    'Your request has been sent to the administrators. Sign in again once they have admitted you.',
  step_up_required: 'Baton requires a stronger sign-in method. Select one at the identity provider.',
  identity_disabled: 'Your account is disabled. Contact an administrator.',
  principal_disabled: 'Your account is disabled. Contact an administrator.',
  invalid_credentials: 'Your account does not have access to Baton yet. Contact an administrator.',
  secret_address_changed:
    "The identity provider has a new address. Baton won't send its client secret there until an operator confirms it. Contact your operator.",
  sign_in_over: 'Your session at the identity provider has ended. Sign in again.',
  invalid_token: 'Your sign-in has expired or was revoked. Sign in again.',
  invalid_invitation:
    'This link was used, has expired or was revoked. Request a new one from the person who sent it.',
  external_identity_conflict:
    'Your account at the identity provider already belongs to another person in Baton.',
  rate_limited: 'Too many attempts from your IP address. Try again in a few minutes.',
};

/** The error of the last sign-in, or the reason why the session ended. */
export function Problem() {
  const problem = new URLSearchParams(location.search).get('problem');
  if (problem === null || !/^[a-z_]{1,60}$/.test(problem)) return null;
  return (
    <div role="alert">
      <p>{problems[problem] ?? 'You are signed out. Sign in again.'}</p>
      <p className="mono">{problem}</p>
    </div>
  );
}

/** An open page shows a new provider after this time. The server reads its own list every two seconds at most. */
const pollMs = 5_000;

/** Sign-in buttons for the tenant's identity providers. */
export function Providers() {
  const address = new URLSearchParams(location.search);
  const { data } = useQuery({ queryKey: ['providers'], queryFn: signInProviders, refetchInterval: pollMs });
  const redirect = useMutation({
    mutationFn: (provider: string) => signInThrough(provider, localPath(address.get('next'))),
  });
  return (
    <>
      {data?.map((provider) => (
        <button
          key={provider}
          type="button"
          disabled={redirect.isPending}
          onClick={() => redirect.mutate(provider)}
        >
          Sign in with {provider}
        </button>
      ))}
      {redirect.isError && <ErrorNote error={redirect.error} />}
    </>
  );
}

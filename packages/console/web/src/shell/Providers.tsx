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
  invalid_token: 'Your access token has expired or was revoked. Sign in with another one.',
  rate_limited: 'Too many attempts from your IP address. Try again in a few minutes.',
};

/** Sign-in buttons for the tenant's identity providers, and the error of the last attempt. */
export function Providers() {
  const address = new URLSearchParams(location.search);
  const problem = address.get('problem');
  const { data } = useQuery({ queryKey: ['providers'], queryFn: signInProviders });
  const redirect = useMutation({
    mutationFn: (provider: string) => signInThrough(provider, localPath(address.get('next'))),
  });
  return (
    <>
      {problem !== null && /^[a-z_]{1,60}$/.test(problem) && (
        <div role="alert">
          <p>{problems[problem] ?? 'You are signed out. Sign in again.'}</p>
          <p className="mono">{problem}</p>
        </div>
      )}
      {data?.map((provider) => (
        <button
          key={provider}
          type="button"
          className="primary"
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

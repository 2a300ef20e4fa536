import { useMutation, useQuery } from '@tanstack/react-query';
import { signInProviders, signInThrough } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { localPath } from './local-path.ts';

/** Why a provider's sign-in came to nothing, by the code that stands in the address, and what to do. */
const problems: Readonly<Record<string, string>> = {
  sign_in_expired: 'This sign-in was finished before, or took longer than ten minutes. Begin again.',
  sign_in_of_another: 'This sign-in was begun in another browser. Begin again here.',
  provider_refused: 'The identity provider has not signed you in.',
  identity_provider_not_found: 'Nobody signs in through this provider: it is disabled, or was removed.',
  identity_provider_unavailable: 'The identity provider does not answer. Try again in a while.',
  step_up_required: 'Baton asks for a stronger method of signing in. Choose it at the provider.',
  identity_disabled: 'You may not enter any more. Ask an administrator.',
  principal_disabled: 'You may not enter any more. Ask an administrator.',
  invalid_credentials:
    'Identity knows you, but you are not admitted to Baton yet. Ask an administrator to admit you.',
  secret_address_changed:
    "The identity provider has a new address. Baton won't send its client secret there until an operator confirms it. Contact your operator.",
  sign_in_over: 'Your sign-in at the identity provider is over. Sign in again.',
  invalid_token: 'The token that you signed in with is over. Sign in with another one.',
  rate_limited: 'Too many attempts came from your address. Wait for some minutes.',
};

/** Signing in through the tenant's identity providers, where there are some, and what came of the last attempt. */
export function Providers() {
  const address = new URLSearchParams(location.search);
  const problem = address.get('problem');
  const { data } = useQuery({ queryKey: ['providers'], queryFn: signInProviders });
  const leave = useMutation({
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
          disabled={leave.isPending}
          onClick={() => leave.mutate(provider)}
        >
          Sign in with {provider}
        </button>
      ))}
      {leave.isError && <ErrorNote error={leave.error} />}
    </>
  );
}

import { useMutation } from '@tanstack/react-query';
import { ErrorNote } from '../../parts/Notes.tsx';
import type { Administration } from '../admin-secret.ts';

const stepNames = {
  discovery: 'Discovery',
  keys: 'Keys',
  redirect: 'Redirect',
  token: 'Token',
  claims: 'Claims',
} as const;
const statusNames = { passed: 'passed', failed: 'failed', skipped: 'not tested' } as const;

/** Tests a provider as far as it works without a person who signs in, and shows the result of each step. */
export function ProviderTest({ admin, providerKey }: { admin: Administration; providerKey: string }) {
  const { identity, tenantId } = admin;
  const test = useMutation({
    mutationFn: () =>
      identity.identityProviders.test(tenantId, providerKey, {
        redirectUri: `${location.origin}/console/callback`,
      }),
  });
  return (
    <>
      <div className="row">
        <button type="button" disabled={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? 'Testing …' : 'Test sign-in'}
        </button>
      </div>
      <div role="status">
        {test.data && (
          <ol className="stack" aria-label={`Test of ${providerKey}`}>
            {test.data.steps.map(({ step, status, code, detail }) => (
              <li key={step}>
                <strong>{stepNames[step]}</strong> {statusNames[status]}: {detail}
                {code !== null && <span className="mono soft"> {code}</span>}
              </li>
            ))}
          </ol>
        )}
      </div>
      {test.isError && <ErrorNote error={test.error} />}
    </>
  );
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { takeTestedSignIn, testThrough } from '../../client.ts';
import { ErrorNote } from '../../parts/Notes.tsx';
import { meQuery } from '../../queries.ts';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';

const route = getRouteApi('/shell/administration');

type Result = Awaited<ReturnType<Administration['identity']['identityProviders']['test']>>;
type Step = Omit<Result['steps'][number], 'step'> & {
  readonly step: Result['steps'][number]['step'] | 'authorization' | 'exchange';
};

const stepNames = {
  discovery: 'Discovery',
  keys: 'Keys',
  redirect: 'Redirect',
  authorization: 'Sign-in',
  exchange: 'Token exchange',
  token: 'Token',
  claims: 'Claims',
} as const;
const statusNames = { passed: 'passed', failed: 'failed', skipped: 'not tested' } as const;

const outcomeTexts: Readonly<Record<NonNullable<Result['outcome']>['result'], string>> = {
  signs_in: 'signs in',
  created: 'is created without access',
  admitted: 'is admitted',
  requested: 'becomes a sign-in request',
  refused: 'is refused',
};

interface ProviderTestProps {
  readonly admin: Administration;
  readonly providerKey: string;
}

/** Tests a provider with and without a sign-in, and shows the result of each step. */
export function ProviderTest({ admin, providerKey }: ProviderTestProps) {
  const me = useQuery(meQuery).data;
  const { tested } = route.useSearch();
  const navigate = route.useNavigate();
  const hasTaken = useRef(false);
  const test = useMutation({ mutationFn: () => testProvider(admin, providerKey) });
  // The ID token must not enter the mutation cache, so the result contains only the steps.
  const take = useMutation({ mutationFn: () => takeTest(admin, providerKey) });
  const signIn = useMutation({
    mutationFn: () =>
      testThrough(providerKey, `/administration?section=providers&tested=${encodeURIComponent(providerKey)}`),
  });
  useEffect(() => {
    if (tested !== providerKey || hasTaken.current) return;
    hasTaken.current = true;
    take.mutate();
    void navigate({ search: { section: 'providers' }, replace: true });
  });
  const isBusy = test.isPending || take.isPending || signIn.isPending;
  const shown = test.data ?? take.data;
  return (
    <>
      <div className="row">
        <button type="button" disabled={isBusy} onClick={() => test.mutate()}>
          {test.isPending ? 'Testing …' : 'Test sign-in'}
        </button>
        {me?.permissions.includes('admin') && (
          <button type="button" disabled={isBusy} onClick={() => signIn.mutate()}>
            Test {providerKey} with my own sign-in
          </button>
        )}
      </div>
      <div role="status">
        {take.isPending && <p>Testing …</p>}
        {shown && <Steps providerKey={providerKey} {...shown} />}
      </div>
      {[test, take, signIn].map(
        ({ isError, error }, place) => isError && <ErrorNote key={place} error={error} />,
      )}
    </>
  );
}

interface Shown extends Pick<Result, 'person' | 'outcome'> {
  readonly steps: readonly Step[];
}

function Steps({ providerKey, steps, person, outcome }: Shown & { providerKey: string }) {
  return (
    <>
      <ol className="stack" aria-label={`Test of ${providerKey}`}>
        {steps.map(({ step, status, code, detail }) => (
          <li key={step}>
            <strong>{stepNames[step]}</strong> {statusNames[status]}: <bdi>{detail}</bdi>
            {code !== null && <span className="mono soft"> {code}</span>}
          </li>
        ))}
      </ol>
      {person !== null && (
        <dl className={styles.claims} aria-label={`Claims of ${providerKey}`}>
          <Claim name="Subject" text={person.subject} />
          <Claim name="Name" text={person.displayName ?? 'none'} />
          <Claim
            name="E-mail"
            text={
              person.email === null
                ? 'none'
                : `${person.email}${person.emailVerified ? ', verified' : ', not verified'}`
            }
          />
          <Claim name="Groups" text={person.groups.join(', ') || 'none'} />
          {outcome !== null && (
            <Claim
              name="With this sign-in, the person"
              text={[outcomeTexts[outcome.result], outcome.role && `as ${outcome.role}`, outcome.code]
                .filter(Boolean)
                .join(' ')}
            />
          )}
        </dl>
      )}
    </>
  );
}

function Claim({ name, text }: { name: string; text: string }) {
  return (
    <>
      <dt className="soft">{name}</dt>
      <dd>
        <bdi>{text}</bdi>
      </dd>
    </>
  );
}

const redirectUri = () => `${location.origin}/console/callback`;

async function testProvider(
  { identity, tenantId }: Administration,
  key: string,
  token?: string,
): Promise<Shown> {
  const body = { redirectUri: redirectUri(), ...(token !== undefined && { token }) };
  const { steps, person, outcome } = await identity.identityProviders.test(tenantId, key, body);
  return { steps, person, outcome };
}

/** Adds the steps of the sign-in from which the browser has just returned, before those that need its ID token. */
async function takeTest(admin: Administration, key: string): Promise<Shown> {
  const tested = await takeTestedSignIn();
  const token = 'idToken' in tested ? tested.idToken : undefined;
  const { steps, ...rest } = await testProvider(admin, key, token);
  const isOfSignIn = ({ step }: Step) => step !== 'token' && step !== 'claims';
  return {
    ...rest,
    steps: [...steps.filter(isOfSignIn), ...signInSteps(tested), ...steps.filter((one) => !isOfSignIn(one))],
  };
}

function signInSteps(tested: Awaited<ReturnType<typeof takeTestedSignIn>>): Step[] {
  const passed = (step: Step['step'], detail: string): Step => ({
    step,
    status: 'passed',
    code: null,
    detail,
  });
  const authorized = passed('authorization', 'The provider returned a code.');
  if ('idToken' in tested)
    return [authorized, passed('exchange', 'The provider exchanged the code for an ID token.')];
  const { failed: step, code, detail } = tested;
  const failed: Step = { step, status: 'failed', code, detail };
  return step === 'exchange'
    ? [authorized, failed]
    : [failed, { step: 'exchange', status: 'skipped', code: null, detail: 'Needs a sign-in.' }];
}

import assert from 'node:assert/strict';
import { afterEach, describe } from 'node:test';
import {
  type Answers,
  address,
  click,
  departures,
  everything,
  exampleOf,
  itemOf,
  open,
  see,
  test,
} from '../../testing/page.ts';

const { lockAdministration } = await import('../admin-secret.ts');
afterEach(lockAdministration);

const evil = '<img src=x onerror="window.ran=1">';
const administrator = { me: { permissions: [...everything, 'admin'] } };
const usual: Answers = {
  'identity.tenants.get': exampleOf('identity.tenants.get'),
  'identityAdministrationTokens.create': exampleOf('identityAdministrationTokens.create', {
    token: 'iam_adm_own',
    expiresAt: new Date(Date.now() + 290_000).toISOString(),
  }),
};

describe('the test of a provider', () => {
  const provider = itemOf('identity.identityProviders.list', { key: 'corp', status: 'active' });
  const step = (name: string, status: string, detail = 'It is so.') => ({
    step: name,
    status,
    code: status === 'failed' ? 'no_keys' : null,
    detail,
  });
  const tested = (token: string) =>
    exampleOf('identity.identityProviders.test', {
      steps: [
        step('discovery', 'passed'),
        step('keys', 'failed'),
        step('redirect', 'passed'),
        step('token', token),
        step('claims', token),
      ],
      person: null,
      outcome: null,
    } as never);
  const openTested = (answer: object, token: string) =>
    open('/administration?section=providers&tested=corp', {
      ...administrator,
      answers: {
        ...usual,
        'identity.identityProviders.list': [provider],
        'identity.identityProviders.test': tested(token),
      },
      others: { '/console/provider-test': answer },
    });

  test('shows the step of the sign-in that failed verbatim, and tests the rest without a token', async () => {
    const detail = `It reported: ${evil}`;
    const service = await openTested(
      { provider: 'corp', failed: 'exchange', code: 'provider_refused', detail },
      'skipped',
    );
    await see(
      `Sign-in passed: The provider returned a code.\nToken exchange failed: ${detail} provider_refused`,
    );
    await see('Token not tested');
    assert.equal(address(), '/administration?section=providers');
    assert.deepEqual(service.askedFor('identity.identityProviders.test')[0]?.body, {
      redirectUri: `${location.origin}/console/callback`,
    });
    assert.equal(service.askedFor('/console/provider-test').length, 1);
  });

  test('presents the ID token to identity, and keeps it nowhere', async () => {
    const service = await openTested({ provider: 'corp', idToken: 'the.id.token' }, 'passed');
    await see('Token exchange passed');
    await see('Keys failed: It is so. no_keys');
    const [asked] = service.askedFor('identity.identityProviders.test');
    assert.equal((asked?.body as { token?: string }).token, 'the.id.token');
    assert.ok(!document.body.innerHTML.includes('the.id.token'));
  });

  test('begins with a redirect that returns to the list', async () => {
    const service = await open('/administration?section=providers', {
      ...administrator,
      answers: {
        ...usual,
        'identity.identityProviders.list': [provider],
      },
      others: { '/console/provider-sign-in': { url: 'https://login.example/authorize' } },
    });
    await click('button', 'Test corp with my own sign-in');
    assert.deepEqual(service.askedFor('/console/provider-sign-in')[0]?.body, {
      provider: 'corp',
      next: '/administration?section=providers&tested=corp',
      test: 'yes',
    });
    assert.deepEqual(departures, [{ way: 'assign', to: 'https://login.example/authorize' }]);
  });
});

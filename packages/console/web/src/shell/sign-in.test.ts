import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  address,
  click,
  departures,
  fill,
  find,
  isThere,
  open,
  Refusal,
  see,
  settled,
  submit,
  test,
  until,
} from '../testing/page.ts';

const field = 'Personal access token';

describe('the sign-in', () => {
  test('accepts a token, clears its field, and opens the requested page', async () => {
    const service = await open('/sign-in?next=%2Fjournal%3Ftypes%3Dtask.', {
      others: { '/console/sign-in': {} },
    });
    assert.equal(document.title, 'Sign in · Baton');
    await fill('textbox', field, ' secret-token ');
    await submit('textbox', field);
    assert.deepEqual(
      service.askedFor('/console/sign-in').map(({ body }) => body),
      [{ token: 'secret-token' }],
    );
    assert.deepEqual(departures, [{ way: 'replace', to: '/journal?types=task.' }]);
    assert.equal((await find<HTMLInputElement>('textbox', field)).value, '');
  });

  test('never redirects to another site', async () => {
    await open('/sign-in?next=%2F%2Fevil.example%2Fx', { others: { '/console/sign-in': {} } });
    await fill('textbox', field, 'secret-token');
    await submit('textbox', field);
    assert.deepEqual(departures, [{ way: 'replace', to: '/' }]);
  });

  test('a wrong token is rejected with its code, and the page stays', async () => {
    await open('/sign-in', {
      others: { '/console/sign-in': new Refusal(401, 'invalid_token', 'This is no token.') },
    });
    await fill('textbox', field, 'no-token');
    await submit('textbox', field);
    await see('This is no token.\ninvalid_token');
    assert.deepEqual(departures, []);
    assert.ok(isThere('button', 'Sign in with the token'));
  });

  test('a code in the URL signs in once, and is removed from the URL', async () => {
    const service = await open('/sign-in#code=abc', { others: { '/console/sign-in': {} } });
    assert.equal(address(), '/sign-in');
    assert.deepEqual(
      service.askedFor('/console/sign-in').map(({ body }) => body),
      [{ code: 'abc' }],
    );
    assert.deepEqual(departures, [{ way: 'replace', to: '/' }]);
  });

  test('an expired code is reported', async () => {
    await open('/sign-in#code=abc', {
      others: { '/console/sign-in': new Refusal(401, 'code_invalid', 'It has expired.') },
    });
    await see('code_invalid');
  });

  test('a code signs in even if the page is already open', async () => {
    const service = await open('/sign-in', { others: { '/console/sign-in': {} } });
    location.hash = '#code=def';
    dispatchEvent(new Event('hashchange'));
    await until(() => service.askedFor('/console/sign-in').length > 0);
    assert.deepEqual(service.askedFor('/console/sign-in')[0]?.body, { code: 'def' });
    await settled();
  });

  test('a code of somebody else requires a confirmation before it replaces the session', async () => {
    const service = await open('/sign-in#code=abc', {
      others: { '/console/sign-in': new Refusal(409, 'signed_in_as_other') },
    });
    await find('alertdialog');
    await see('Switch account?');
    service.answer({}, { '/console/sign-in': {} });
    await click('button', 'Switch account');
    assert.deepEqual(service.askedFor('/console/sign-in').at(-1)?.body, { code: 'abc', replace: 'yes' });
    assert.equal(departures.length, 1);
  });

  test('staying signed in sends no code', async () => {
    const service = await open('/sign-in#code=abc', {
      others: { '/console/sign-in': new Refusal(409, 'signed_in_as_other') },
    });
    await click('button', 'Stay signed in');
    assert.equal(service.askedFor('/console/sign-in').length, 1);
    assert.deepEqual(departures, [{ way: 'replace', to: '/' }]);
  });

  test('offers the identity providers, and redirects to the selected one', async () => {
    const service = await open('/sign-in?next=%2Finbox', {
      others: {
        '/console/providers': { providers: ['corporate', 'partners'] },
        '/console/provider-sign-in': { url: 'https://login.example/authorize' },
      },
    });
    assert.ok(isThere('button', 'Sign in with partners'));
    await click('button', 'Sign in with corporate');
    assert.deepEqual(service.askedFor('/console/provider-sign-in')[0]?.body, {
      provider: 'corporate',
      next: '/inbox',
    });
    assert.deepEqual(departures, [{ way: 'assign', to: 'https://login.example/authorize' }]);
  });

  test('an unavailable provider is reported', async () => {
    await open('/sign-in', {
      others: {
        '/console/providers': { providers: ['corporate'] },
        '/console/provider-sign-in': new Refusal(
          503,
          'identity_provider_unavailable',
          'The service is not responding.',
        ),
      },
    });
    await click('button', 'Sign in with corporate');
    await see('The service is not responding.\nidentity_provider_unavailable');
    assert.deepEqual(departures, []);
  });

  for (const [problem, words] of [
    ['sign_in_expired', 'This sign-in was already used or took longer than ten minutes. Try again.'],
    ['provider_refused', 'The identity provider rejected the sign-in.'],
    ['step_up_required', 'Baton requires a stronger sign-in method. Select one at the identity provider.'],
    ['rate_limited', 'Too many attempts from your IP address. Try again in a few minutes.'],
    ['some_new_code', 'You are signed out. Sign in again.'],
  ] as const)
    test(`${problem} has a message`, async () => {
      await open(`/sign-in?problem=${problem}`);
      await see(`${words}\n${problem}`);
    });

  test('an invalid code in the URL is ignored', async () => {
    await open('/sign-in?problem=%3Cb%3Ehello');
    assert.ok(!isThere('alert'));
  });
});

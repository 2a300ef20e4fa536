import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  address,
  click,
  departures,
  fill,
  find,
  isThere,
  notSeen,
  open,
  Refusal,
  see,
  test,
} from '../testing/page.ts';

const { forgetInvitation } = await import('../invite/invitation-secret.ts');
const { suggestPasskeyName } = await import('./passkey-name.ts');

// This document has no authenticator; the browser tests in e2e/console/passkeys.test.ts have a real one.

const secret = `iam_inv_${'0'.repeat(12)}_${'s'.repeat(43)}`;
const invitation = {
  kind: 'invitation',
  tenantName: 'Acme',
  displayName: 'Maria',
  invitedBy: 'Grace',
  message: '<b>Hello</b>',
  role: 'member',
  replacesCredentials: false,
  expiresAt: '2026-12-01T00:00:00Z',
  identityProviders: ['corporate', 'elsewhere'],
};
const signedOut = new Refusal(401, 'signed_out');

describe('the invitation', () => {
  test('takes its secret out of the URL, shows its texts verbatim, and offers the providers of both', async () => {
    const service = await open(`/invite#${secret}`, {
      answers: { 'identity.invitations.read': invitation as never },
      others: {
        '/console/account': signedOut,
        '/console/providers': { providers: ['corporate', 'internal'] },
        '/console/provider-sign-in': { url: 'https://login.example/authorize' },
      },
    });
    assert.equal(address(), '/invite');
    await see('Grace invites you as Maria, with the role member.');
    await see('<b>Hello</b>');
    assert.deepEqual(service.askedFor('identity.invitations.read')[0]?.body, { token: secret });
    await see('Passkeys require https.');
    notSeen('already signed in');
    assert.deepEqual(
      ['internal', 'elsewhere'].map((key) => isThere('button', `Sign in with ${key}`)),
      [false, false],
    );
    await click('button', 'Sign in with corporate');
    assert.deepEqual(service.askedFor('/console/provider-sign-in')[0]?.body, {
      provider: 'corporate',
      next: '/start',
      invitation: secret,
    });
    assert.deepEqual(departures, [{ way: 'assign', to: 'https://login.example/authorize' }]);
    forgetInvitation();
  });

  test('reports that this browser is signed in as somebody', async () => {
    await open(`/invite#${secret}`, {
      answers: { 'identity.invitations.read': { ...invitation, kind: 'recovery' } as never },
      others: { '/console/account': { signedInBy: 'token', mayAddPasskey: false } },
    });
    await see('Welcome back, Maria');
    await see('This browser is already signed in. Accepting signs in Maria instead.');
    forgetInvitation();
  });

  test('that was used offers the sign-in', async () => {
    await open(`/invite#${secret}`, {
      answers: { 'identity.invitations.read': new Refusal(401, 'invalid_invitation') },
    });
    await see('This link is not valid');
    assert.equal((await find('link', 'sign in')).getAttribute('href'), '/sign-in');
    forgetInvitation();
  });

  test('with another text in place of the secret requires the link', async () => {
    const service = await open('/invite#code=abc');
    await see('Open your link again');
    assert.equal(address(), '/invite');
    assert.deepEqual(service.askedFor('identity.invitations.read'), []);
  });
});

describe('the account', () => {
  const session = (id: string, clientId = 'baton-console') => ({
    id,
    tenantId: 't',
    principalId: 'p',
    passkeyId: null,
    clientId,
    publicPrefix: id,
    acr: null,
    amr: [],
    authTime: '2026-11-28T00:00:00Z',
    createdAt: '2026-11-28T00:00:00Z',
    lastUsedAt: '2026-11-28T00:00:00Z',
    expiresAt: '2026-12-05T00:00:00Z',
    idleExpiresAt: '2026-11-28T12:00:00Z',
  });
  const account = {
    signedInBy: 'session',
    currentId: 'b',
    grants: [
      {
        id: 'g',
        name: 'Editor <b>',
        clientId: 'https://editor.example/client.json',
        agentId: null,
        agentName: null,
        scopeCeiling: ['control-plane:read'],
        createdAt: '2026-11-28T00:00:00Z',
        lastUsedAt: null,
        expiresAt: '2027-02-26T00:00:00Z',
      },
    ],
    sessions: [session('a', 'idp:corporate'), session('b')],
    passkeys: [
      {
        id: 'k',
        principalId: 'p',
        name: 'Laptop',
        isSynced: true,
        isBackedUp: true,
        createdAt: '2026-11-28T00:00:00Z',
        lastUsedAt: null,
      },
    ],
  };

  test('lists passkeys and browsers, and signs out another one', async () => {
    const service = await open('/account', {
      others: { '/console/account': account, '/console/sessions': {} },
    });
    await see('This browser');
    await see(/signed in with corporate/);
    await click('button', 'Sign out', await find('region', 'Browsers'));
    await click('button', 'Sign out all other browsers');
    assert.deepEqual(
      service.askedFor('/console/sessions').map(({ body }) => body),
      [{ act: 'end', id: 'a' }, { act: 'end-others' }],
    );
  });

  test('lists connected programs, and disconnects one', async () => {
    const service = await open('/account', {
      others: { '/console/account': account, '/console/grant-end': {} },
    });
    await see('https://editor.example/client.json');
    await see(/acts as you/);
    await click('button', 'Disconnect Editor <b>');
    await see('Editor <b> loses access immediately and has to be connected again.');
    await see('Tasks that it has claimed in your name are released.');
    await click('button', 'Cancel');
    assert.deepEqual(service.askedFor('/console/grant-end'), []);
    await click('button', 'Disconnect Editor <b>');
    await click('button', 'Disconnect');
    assert.deepEqual(
      service.askedFor('/console/grant-end').map(({ body }) => body),
      [{ id: 'g' }],
    );
    service.answer({}, { '/console/grant-end': new Refusal(404, 'oauth_grant_not_found', 'not found') });
    await click('button', 'Disconnect Editor <b>');
    await click('button', 'Disconnect');
    await see('oauth_grant_not_found');
  });

  test('the confirmation of a disconnection names the agent whose tasks are released', async () => {
    const grants = account.grants.map((grant) => ({ ...grant, agentId: 'a', agentName: 'Desk <i>' }));
    await open('/account', { others: { '/console/account': { ...account, grants } } });
    await click('button', 'Disconnect Editor <b>');
    await see('Tasks that it has claimed as Desk <i> are released.');
  });

  test('renames a passkey, and explains why the last one stays', async () => {
    const service = await open('/account', {
      others: { '/console/account': account, '/console/passkeys': {} },
    });
    await click('button', 'Rename Laptop');
    await fill('textbox', 'Name of the passkey', 'Work laptop');
    await click('button', 'Save');
    assert.deepEqual(service.askedFor('/console/passkeys').at(-1)?.body, {
      act: 'rename',
      id: 'k',
      name: 'Work laptop',
    });
    service.answer({}, { '/console/passkeys': new Refusal(409, 'last_passkey', 'last passkey') });
    await click('button', 'Remove Laptop');
    await click('button', 'Remove');
    await see('This is your only way to sign in.');
    await see('last_passkey');
  });

  test('an action that requires a recent sign-in can be cancelled at the question', async () => {
    await open('/account', {
      others: {
        '/console/account': account,
        '/console/passkeys': new Refusal(403, 'authentication_context_expired', 'too old'),
      },
    });
    await click('button', 'Remove Laptop');
    const removed = click('button', 'Remove');
    await find('alertdialog');
    await see("Confirm that it's you");
    await click('button', 'Cancel');
    await removed;
    await see('This action requires a sign-in within the last five minutes.');
  });

  test('signing out another browser also requires a recent sign-in', async () => {
    const tooOld = new Refusal(403, 'authentication_context_expired', 'too old');
    await open('/account', { others: { '/console/account': account, '/console/sessions': tooOld } });
    for (const [name, within] of [
      ['Sign out', await find('region', 'Browsers')],
      ['Sign out all other browsers', undefined],
    ] as const) {
      const ended = click('button', name, within);
      await find('alertdialog');
      await see("Confirm that it's you");
      await click('button', 'Cancel');
      await ended;
      await see('This action requires a sign-in within the last five minutes.');
    }
  });

  test('offers a first passkey to the reader of the printed address', async () => {
    await open('/account', { others: { '/console/account': { signedInBy: 'token', mayAddPasskey: true } } });
    await see('Add your first passkey');
    await see('Passkeys require https.');
    notSeen('recovery link');
  });

  test('a sign-in by a token shows how to get a passkey', async () => {
    await open('/account', { others: { '/console/account': { signedInBy: 'token', mayAddPasskey: false } } });
    await see('You signed in with a token');
    await see('Open a recovery link in this browser. An administrator creates it on your page');
  });
});

test('a new passkey is named after browser and system', () => {
  for (const [agent, name] of [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36',
      'Chrome on Windows',
    ],
    ['Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0', 'Edge on Windows'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1',
      'Safari on iPhone',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Linux'],
    ['something', 'Browser'],
  ] as const)
    assert.equal(suggestPasskeyName(agent), name);
});

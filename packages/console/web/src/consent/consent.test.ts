import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { address, click, departures, open, Refusal, see, test } from '../testing/page.ts';

const { forgetWanted } = await import('./oauth-request.ts');

const found = {
  client: {
    id: 'https://editor.example/client',
    name: '<b>Editor</b>',
    kind: 'document',
    host: 'editor.example',
    redirectHost: '127.0.0.1:1',
  },
  device: null,
  tenant: { id: 't', name: 'Acme' },
  person: { id: 'p', name: 'Maria' },
  agents: [],
  audience: 'control-plane',
  service: 'Baton (tasks and projects)',
  scopes: ['control-plane:read', 'control-plane:other'],
  workspaces: { names: ['Payments', '<i>Shop</i>'], hasMore: true },
  isRecent: true,
};

describe('the consent', () => {
  test('shows verbatim what the program gets and where, and takes the request out of the URL', async () => {
    const service = await open('/consent#request=sealed', { others: { '/console/oauth-request': found } });
    await see('Allow <b>Editor</b> to use Baton?');
    assert.equal(address(), '/consent');
    await see(
      'They apply in these workspaces, as far as the one it acts as has them: Payments, <i>Shop</i> and more.',
    );
    await see('control-plane:other');
    await see('Baton (tasks and projects)');
    await see('Allow it only if you have just started it and know editor.example.');
    assert.deepEqual(service.askedFor('/console/oauth-request')[0]?.body, { act: 'read', request: 'sealed' });
    forgetWanted();
  });

  test('allows exactly the rights that it shows', async () => {
    const service = await open('/consent#code=BCDF-GHJK', {
      others: { '/console/oauth-request': { ...found, redirectTo: null } },
    });
    await see('control-plane:other');
    await click('button', 'Allow');
    await see('Return to your device. You can close this page.');
    const bodies = service.askedFor('/console/oauth-request').map(({ body }) => body);
    assert.deepEqual(bodies.at(-1), {
      act: 'allow',
      userCode: 'BCDF-GHJK',
      scopes: 'control-plane:read control-plane:other',
    });
  });

  test('refuses a device by its code', async () => {
    const device = { address: '192.0.2.1', userAgent: '', requestedAt: '2026-11-28T00:00:00Z' };
    const service = await open('/consent#code=BCDF-GHJK', {
      others: { '/console/oauth-request': { ...found, device, redirectTo: null, workspaces: null } },
    });
    await see('192.0.2.1');
    await see('They apply in every workspace in which the one it acts as has them.');
    await click('button', 'Refuse');
    await see('The device gets no access. You can close this page.');
    const bodies = service.askedFor('/console/oauth-request').map(({ body }) => body);
    assert.deepEqual(bodies.at(-1), { act: 'deny', userCode: 'BCDF-GHJK' });
    assert.deepEqual(departures, []);
  });

  test('leads a person who signed in by a token to another sign-in', async () => {
    await open('/consent#code=BCDF-GHJK', {
      others: { '/console/oauth-request': new Refusal(409, 'browser_session_required') },
    });
    await see('Sign in with a passkey or an identity provider');
    forgetWanted();
  });
});

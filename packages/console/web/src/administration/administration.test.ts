import assert from 'node:assert/strict';
import { afterEach, describe, type TestContext } from 'node:test';
import type { identity } from '@baton/sdk';
import {
  type Answers,
  address,
  all,
  click,
  departures,
  everything,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  settled,
  submit,
  test,
  unseen,
  until,
} from '../testing/page.ts';
import { graceId } from '../testing/tasks.ts';

const { lockAdministration } = await import('./admin-secret.ts');
afterEach(lockAdministration);

const evil = '<img src=x onerror="window.ran=1">';
const tenantId = '0190b2c4-0000-7000-8000-00000000007e';
const principal = (other: Partial<identity.Principal> = {}): identity.Principal =>
  itemOf('identity.principals.list', {
    id: graceId,
    kind: 'agent',
    display_name: `Grace ${evil}`,
    status: 'active',
    ...other,
  });
const principals = (...items: identity.Principal[]): Answers => ({
  'identity.principals.list': { items, next_after: null },
});
const usual: Answers = {
  'identity.tenants.get': exampleOf('identity.tenants.get'),
  'identity.principals.get': principal(),
  'identity.audiences.list': [
    itemOf('identity.audiences.list', {
      key: 'control-plane',
      allowed_scopes: ['tasks:read', 'tasks:admin'],
      status: 'active',
    }),
  ],
  'identity.platformAccessTokens.list': [],
  'identity.identityProviders.list': [],
  'identity.provisioningSources.list': [],
  'identity.serviceAccounts.list': { items: [], nextAfter: null },
  'identity.groups.list': { items: [], next_after: null },
  'identity.audit.listTenantRecords': exampleOf('identity.audit.listTenantRecords', {
    items: [],
    next_after: null,
  }),
  ...principals(),
};

const accounts: Answers = {
  'identity.serviceAccounts.list': {
    items: [itemOf('identity.serviceAccounts.list', { displayName: `Writer ${evil}` })],
    nextAfter: null,
  },
};

/** Opens a section of identity with the admin secret. */
async function openSection(section: string, answers: Answers = {}) {
  const service = await open(`/administration?section=${section}`, { answers: { ...usual, ...answers } });
  await unfold('Use the admin secret');
  await fill('textbox', 'Admin secret', ' s3cret ');
  await submit('textbox', 'Admin secret');
  await find('button', 'Lock administration');
  await settled();
  return service;
}
async function unfold(summary: string): Promise<void> {
  (await find('summary', summary)).click();
  await settled();
}

describe('the admin secret', () => {
  test('unlocks the administration, is sent in a header only, and is cleared from its field', async () => {
    const service = await openSection('service-accounts', accounts);
    await see(`Writer ${evil}`);
    const asked = service.asked.filter(({ headers }) => headers.get('x-iam-bootstrap-token') === 's3cret');
    assert.ok(asked.length >= 2);
    assert.ok(
      service.asked.every(
        ({ name, query, body }) => !JSON.stringify([name, query, body ?? null]).includes('s3cret'),
      ),
    );
    assert.ok(
      service.asked
        .filter(({ name }) => !name.startsWith('identity.'))
        .every(({ headers }) => !headers.has('x-iam-bootstrap-token')),
    );
    assert.equal(document.body.innerHTML.includes('s3cret'), false);
    assert.deepEqual(
      Object.keys(localStorage).filter((name) => name !== 'baton.console-key'),
      [],
    );
  });

  test('a wrong one is rejected with its code', async () => {
    await open('/administration', {
      answers: { 'identity.tenants.get': new Refusal(401, 'invalid_token', 'No.') },
    });
    await unfold('Use the admin secret');
    await fill('textbox', 'Admin secret', 'wrong');
    await submit('textbox', 'Admin secret');
    await see('The admin secret is incorrect.\nNo.\ninvalid_token');
    assert.equal((await find<HTMLInputElement>('textbox', 'Admin secret')).value, '');
  });

  test('is discarded on demand, with the responses that required it', async () => {
    await openSection('service-accounts', accounts);
    await click('button', 'Lock administration');
    await find('summary', 'Use the admin secret');
    notSeen('Writer');
  });

  test('is discarded as soon as identity rejects it', async () => {
    const service = await openSection('service-accounts', accounts);
    service.answer({ 'identity.groups.list': new Refusal(401, 'invalid_token') });
    await click('link', 'Groups');
    await find('summary', 'Use the admin secret');
  });

  test('is forgotten at sign-out', async () => {
    const service = await openSection('service-accounts', accounts);
    service.answer({}, { '/console/sign-out': {} });
    await click('button', 'Sign out');
    await until(() => departures.length > 0);
    await find('summary', 'Use the admin secret');
  });

  test('is discarded after 15 minutes of inactivity, and not before', async (t) => {
    let nowMs = Date.now();
    t.mock.method(Date, 'now', () => nowMs);
    await openSection('service-accounts', accounts);
    nowMs += 14 * 60_000;
    dispatchEvent(new Event('keydown'));
    nowMs += 14 * 60_000;
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    assert.ok(isThere('button', 'Lock administration'));
    nowMs += 60_000;
    document.dispatchEvent(new Event('visibilitychange'));
    await find('summary', 'Use the admin secret');
  });

  test('an unknown section in the URL shows the first one', async () => {
    await open('/administration?section=x');
    assert.equal((await find('link', 'Tokens')).getAttribute('aria-current'), 'page');
  });
});

const administrator = {
  me: { permissions: [...everything, 'admin'] },
  // The dialog of a fresh sign-in offers the provider of the session.
  others: { '/console/account': { signedInBy: 'token', mayAddPasskey: false } },
};
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
const granted = (other: object = {}) =>
  exampleOf('identityAdministrationTokens.create', {
    token: 'iam_adm_own',
    expiresAt: fromNow(290),
    ...other,
  });
const tooOld = new Refusal(403, 'fresh_sign_in_required', 'Sign in again.');

describe("an administrator's own sign-in", () => {
  const openOwn = (answers: Answers = {}, section = 'service-accounts') =>
    open(`/administration?section=${section}`, {
      ...administrator,
      answers: { ...usual, 'identityAdministrationTokens.create': granted(), ...answers },
      others: { '/console/account': { signedInBy: 'token', mayAddPasskey: false } },
    });
  const tokensSent = (service: Awaited<ReturnType<typeof openOwn>>) =>
    service.asked
      .filter(({ name }) => name.startsWith('identity.'))
      .map(({ headers }) => headers.get('authorization'));

  test('unlocks the administration without a question, with one token that only identity gets', async () => {
    const service = await openOwn(accounts);
    await see(`Writer ${evil}`);
    await click('link', 'Groups');
    await see('No groups.');
    assert.equal(service.askedFor('identityAdministrationTokens.create').length, 1);
    assert.ok(tokensSent(service).length >= 3);
    assert.ok(tokensSent(service).every((sent) => sent === 'Bearer iam_adm_own'));
    const others = service.asked.filter(({ name }) => !name.startsWith('identity.'));
    assert.ok(others.every(({ headers }) => !headers.get('authorization')?.includes('iam_adm')));
    assert.ok(service.asked.every(({ headers }) => !headers.has('x-iam-bootstrap-token')));
    assert.equal(document.body.innerHTML.includes('iam_adm_own'), false);
  });

  test('that is too old requires a passkey or another sign-in, and the admin secret remains', async () => {
    const service = await openOwn({ 'identityAdministrationTokens.create': tooOld }, 'tokens');
    await see('requires a sign-in within the last five minutes');
    await find('summary', 'Use the admin secret');
    const to = `/sign-in?next=${encodeURIComponent('/administration?section=tokens')}`;
    assert.equal((await find('link', 'Sign in again')).getAttribute('href'), to);
    await click('button', "Confirm that it's you");
    await find('button', 'Use your passkey');
    await click('button', 'Cancel');
    await see('Managing people, agents and credentials requires a sign-in within the last five minutes');
    assert.deepEqual(departures, []);
    assert.equal(service.askedFor('identity.tenants.get').length, 0);
  });

  test('confirmed in the meantime unlocks it', async () => {
    const service = await openOwn({ 'identityAdministrationTokens.create': tooOld });
    service.answer({ 'identityAdministrationTokens.create': granted() });
    await click('button', "Confirm that it's you");
    await find('button', 'Lock administration');
  });

  for (const [what, answer] of [
    ['is refused', tooOld],
    ['succeeds', granted()],
  ] as const)
    test(`whose token ${what} late leaves the page unlocked by the admin secret`, async () => {
      const late = Promise.withResolvers<typeof answer>();
      const service = await openOwn({ 'identityAdministrationTokens.create': () => late.promise });
      await see('Unlocking …');
      (await find('summary', 'Use the admin secret')).click();
      await fill('textbox', 'Admin secret', 's3cret');
      await submit('textbox', 'Admin secret');
      await find('button', 'Lock administration');
      late.resolve(answer);
      await settled();
      await click('link', 'Groups');
      await see('No groups.');
      const listed = service.askedFor('identity.groups.list');
      assert.ok(listed.every(({ headers }) => headers.get('x-iam-bootstrap-token') === 's3cret'));
    });

  /** Opens a section, and lets the sign-in become too old. */
  async function openUntilTooOld(t: TestContext, meanwhile: () => Promise<void> = async () => {}) {
    const service = await openOwn({
      ...accounts,
      'identity.serviceAccounts.create': exampleOf('identity.serviceAccounts.create', {
        clientId: 'sa_1',
        clientSecret: 'sas_secret',
      }),
    });
    await find('button', 'Lock administration');
    await meanwhile();
    const laterMs = Date.now() + 291_000;
    t.mock.method(Date, 'now', () => laterMs);
    t.mock.method(performance, 'now', () => laterMs);
    service.answer({ 'identityAdministrationTokens.create': tooOld });
    return service;
  }

  test('that has become too old locks it, with the responses that required it, and opens no dialog', async (t) => {
    const service = await openUntilTooOld(t);
    await see('Writer');
    await click('link', 'Groups');
    await see('Managing people, agents and credentials requires a sign-in within the last five minutes');
    assert.ok(isThere('button', "Confirm that it's you") && !isThere('button', 'Use your passkey'));
    notSeen('Writer');
    assert.ok(!isThere('button', 'Lock administration'));
    service.answer({ 'identityAdministrationTokens.create': granted({ expiresAt: fromNow(290) }) });
    await click('button', "Confirm that it's you");
    await see('No groups.');
  });

  test('that becomes too old leaves a secret that is shown once until the person closes it', async (t) => {
    await openUntilTooOld(t, async () => {
      await unfold('New service account');
      await fill('textbox', 'Name', 'deployment');
      await submit('textbox', 'Name');
      await see('sas_secret');
    });
    await click('link', 'Groups');
    await see('Managing people, agents and credentials requires a sign-in within the last five minutes');
    await see('Copy the secret of sa_1 now');
    await see('sas_secret');
    await click('button', 'Done');
    await unseen('sas_secret');
  });

  test('that has become too old requires a passkey for a change', async (t) => {
    await openUntilTooOld(t);
    await click('button', 'Revoke …');
    // The change waits for the passkey.
    const revoked = click('button', 'Revoke');
    await click('button', 'Cancel', await find('alertdialog'));
    await revoked;
    await see('Managing people, agents and credentials requires a sign-in within the last five minutes');
    notSeen('Writer');
  });

  test('unlocks all gates of a page by one token', async () => {
    const service = await open('/people?invite=true', {
      ...administrator,
      answers: {
        ...usual,
        'people.list': pageOf(),
        'accessRoles.list': pageOf(),
        'identity.invitations.list': { items: [], next_after: null },
        'identityAdministrationTokens.create': granted(),
      },
    });
    await see('Create link');
    assert.equal(service.askedFor('identityAdministrationTokens.create').length, 1);
  });

  test('whose token identity rejects gets another one, once', async () => {
    const service = await openOwn();
    let isRejected = true;
    service.answer({
      'identityAdministrationTokens.create': granted({ token: 'iam_adm_next' }),
      'identity.groups.list': () => {
        if (!isRejected) return { items: [], next_after: null };
        isRejected = false;
        return Response.json({ detail: 'unauthorized' }, { status: 401 });
      },
    });
    await click('link', 'Groups');
    await see('No groups.');
    assert.equal(tokensSent(service).at(-1), 'Bearer iam_adm_next');
  });

  test('does not unlock again by itself what the person has locked', async () => {
    const service = await openOwn();
    await click('button', 'Lock administration');
    await see('You have locked the administration.');
    await click('link', 'Groups');
    assert.equal(service.askedFor('identityAdministrationTokens.create').length, 1);
    assert.ok(!isThere('button', 'Lock administration'));
    await click('button', 'Unlock with your sign-in');
    await see('No groups.');
    assert.equal(service.askedFor('identityAdministrationTokens.create').length, 2);
  });

  test('shows why identity issues no token, and can be tried again', async () => {
    const service = await openOwn({
      'identityAdministrationTokens.create': new Refusal(
        503,
        'identity_administration_unavailable',
        'Later.',
      ),
    });
    await see('Later.\nidentity_administration_unavailable');
    service.answer({ 'identityAdministrationTokens.create': granted() });
    await click('button', 'Try again');
    await find('button', 'Lock administration');
  });

  test('offers no record of a sign-in that only the operator can make', async () => {
    await openOwn({}, 'tokens');
    await unfold('New token');
    assert.ok(!seen().includes('Person verification'));
    await click('button', 'Lock administration');
  });

  test('is used by nobody without the permission', async () => {
    const service = await open('/administration', { answers: usual });
    await see('That requires the permission admin, or the admin secret.');
    assert.equal(service.askedFor('identityAdministrationTokens.create').length, 0);
  });
});

describe('tokens', () => {
  const token = (other: Partial<identity.PlatformAccessToken> = {}): identity.PlatformAccessToken =>
    itemOf('identity.platformAccessTokens.list', {
      id: 't1',
      name: 'laptop',
      kind: 'platform_access_token',
      publicPrefix: 'bat_abc',
      audiences: ['control-plane'],
      scopeCeiling: [],
      expiresAt: '2100-01-01T00:00:00.000Z',
      revokedAt: null,
      lastUsedAt: null,
      ...other,
    });

  test('an empty list is reported; a token has its owner, prefix and last use', async () => {
    const service = await openSection('tokens');
    await see('No tokens.');
    service.answer({ 'identity.platformAccessTokens.list': [token()] });
    await click('checkbox', 'Show revoked');
    await see(/laptop\nGrace .* · bat_abc · control-plane\nexpires .* · never used/);
    assert.equal(
      service.askedFor('identity.platformAccessTokens.list').at(-1)?.query['includeRevoked'],
      'true',
    );
  });

  test('a new one is shown once', async () => {
    const service = await openSection('tokens', {
      ...principals(principal()),
      'identity.principals.createToken': exampleOf('identity.principals.createToken', {
        token: 'bat_new_secret',
      }),
    });
    await unfold('New token');
    await fill('combobox', 'Principal', graceId);
    await fill('textbox', 'Name', 'desktop');
    await submit('textbox', 'Name');
    await see("Copy the secret of desktop now. You won't be able to see it again.\nbat_new_secret");
    const [asked] = service.askedFor('identity.principals.createToken');
    assert.deepEqual(asked?.body, {
      name: 'desktop',
      audiences: ['control-plane'],
      scopeCeiling: ['tasks:read'],
      expiresInSeconds: 2_592_000,
    });
    await click('button', 'Done');
    await unseen('bat_new_secret');
  });

  test('one is rotated after a confirmation, and revoked with a reason', async () => {
    const service = await openSection('tokens', {
      'identity.platformAccessTokens.list': [token()],
      'identity.platformAccessTokens.rotate': exampleOf('identity.platformAccessTokens.rotate', {
        token: null,
      }),
      'identity.platformAccessTokens.revoke': () => undefined,
    });
    await click('button', 'Rotate …');
    await click('button', 'Rotate');
    await see(
      'laptop was created, but the response with its secret was lost. Revoke it and create a new one.',
    );
    await click('button', 'Revoke …');
    await fill('textbox', 'Reason (optional)', 'lost');
    await submit('textbox', 'Reason (optional)');
    const [asked] = service.askedFor('identity.platformAccessTokens.revoke');
    assert.deepEqual([asked?.ids, asked?.query['reason']], [[tenantId, 't1'], 'lost']);
  });

  test('an expired one can neither be rotated nor revoked', async () => {
    await openSection('tokens', {
      'identity.platformAccessTokens.list': [token({ expiresAt: '2000-01-01T00:00:00.000Z' })],
    });
    await see(/expired .* ago · never used/);
    assert.ok(!isThere('button', 'Rotate …') && !isThere('button', 'Revoke …'));
  });

  test('further pages load on demand, by the Link header of the response', async () => {
    const service = await openSection('tokens');
    service.answer({
      'identity.platformAccessTokens.list': ({ query }) =>
        query['after'] === 't1'
          ? Response.json([token({ id: 't2', name: 'second' })])
          : Response.json([token()], { headers: { link: '<?after=t1>; rel="next"' } }),
    });
    await click('checkbox', 'Show revoked');
    await see('laptop');
    notSeen('second');
    await click('button', 'Show more');
    await see('second');
  });
});

describe('the other sections', () => {
  for (const [section, empty] of [
    ['service-accounts', 'No service accounts.'],
    ['providers', 'No identity providers. People sign in with passkeys.'],
    ['directories', 'No directories.'],
    ['groups', 'No groups.'],
    ['audit', 'No records match these filters.'],
  ] as const)
    test(`${section} has an empty state`, async () => {
      await openSection(section);
      await see(empty);
    });

  test("a section that can't be loaded shows the error code", async () => {
    await openSection('groups', {
      'identity.groups.list': new Refusal(403, 'permission_denied', 'Not these.'),
    });
    await see('Not these.\npermission_denied · req_test');
  });

  test('a group shows who manages it, and is changed only if it is local', async () => {
    const group = (other: Partial<identity.Group>) =>
      itemOf('identity.groups.list', { status: 'active', ...other });
    const service = await openSection('groups', {
      'identity.groups.list': {
        items: [
          group({ id: 'g1', key: 'local', name: 'Ours', source: 'local' }),
          group({ id: 'g2', key: 'far', name: 'Theirs', source: 'scim' }),
        ],
        next_after: null,
      },
      'identity.groups.delete': () => undefined,
    });
    await see('local · local · active');
    await see('far · managed by a directory · active');
    assert.equal(all('button', 'Delete …').length, 1);
    await click('button', 'Delete …');
    await click('button', 'Delete');
    assert.deepEqual(service.askedFor('identity.groups.delete')[0]?.ids, [tenantId, 'g1']);
  });

  test('the audit log is filtered, and shows actions with their actors', async () => {
    const record = exampleOf('identity.audit.listTenantRecords').items[0];
    assert.ok(record);
    const service = await openSection('audit', {
      'identity.audit.listTenantRecords': exampleOf('identity.audit.listTenantRecords', {
        items: [
          {
            ...record,
            action: 'principals.disable',
            actor_ref: 'bootstrap:maria',
            outcome: 'denied',
            reason: 'no right',
          },
        ],
        next_after: null,
      }),
    });
    await see(/principals\.disable\s*denied\s*bootstrap:maria/);
    await unfold('Verify the audit log');
    await see('baton identity audit verify');
    await fill('textbox', 'Action', 'principals.');
    await submit('textbox', 'Action');
    assert.equal(service.askedFor('identity.audit.listTenantRecords').at(-1)?.query['action'], 'principals.');
  });

  test('signing keys are shown without the admin secret', async () => {
    const keys = exampleOf('identity.keys.list');
    await open('/administration?section=keys', { answers: { 'identity.keys.list': keys } });
    await see(String(keys.keys[0]?.kid));
    assert.ok(!isThere('textbox', 'Admin secret'));
  });

  test('roles are shown without the admin secret, and created with the permission', async () => {
    const role = itemOf('roles.list', {
      name: 'Reviewer',
      slug: 'reviewer',
      description: 'Reads all',
      workspaceId: null,
    });
    const service = await open('/administration?section=roles', {
      answers: {
        'roles.list': pageOf(role),
        'roles.listPrincipals': pageOf(itemOf('roles.listPrincipals', { displayName: 'Grace' })),
        'roles.create': role,
      },
    });
    await see('Reviewer\nreviewer\nReads all');
    await unfold('New role');
    await fill('textbox', 'Name', 'Judge');
    await fill('textbox', 'Slug', 'judge');
    await submit('textbox', 'Name');
    assert.deepEqual(service.askedFor('roles.create')[0]?.body, {
      slug: 'judge',
      name: 'Judge',
      description: '',
    });
    await click('button', 'Holders');
    await see('Grace');
    assert.equal(address(), '/administration?section=roles');
  });

  test('roles are hidden without the permission', async () => {
    await open('/administration?section=roles', { me: { permissions: [] } });
    await see("You don't have access to roles\nYou need the permission org.read. Contact an administrator.");
  });

  test('a service account is created, and its secret is shown once', async () => {
    const service = await openSection('service-accounts', {
      'identity.serviceAccounts.create': exampleOf('identity.serviceAccounts.create', {
        clientId: 'sa_1',
        clientSecret: 'sas_secret',
      }),
    });
    await unfold('New service account');
    await fill('textbox', 'Name', 'deployment');
    await submit('textbox', 'Name');
    await see("Copy the secret of sa_1 now. You won't be able to see it again.\nsas_secret");
    assert.deepEqual(service.askedFor('identity.serviceAccounts.create')[0]?.body, {
      displayName: 'deployment',
      audiences: ['control-plane'],
      scopeCeiling: ['tasks:read'],
    });
  });

  test('a provider is registered with its sign-in methods, and disabled after a confirmation', async () => {
    const provider = itemOf('identity.identityProviders.list', {
      key: 'corporate',
      issuer: 'https://login.example',
      audience: 'baton',
      status: 'active',
      required_amr_values: ['mfa'],
    });
    const service = await openSection('providers', {
      'identity.identityProviders.list': [provider],
      'identity.identityProviders.create': exampleOf('identity.identityProviders.create'),
      'identity.identityProviders.disable': provider,
    });
    await see('https://login.example · for baton');
    await see('requires mfa');
    await unfold('New identity provider');
    await fill('textbox', 'Name', 'partners');
    const issuer = document.querySelector<HTMLInputElement>('input[name="issuer"]');
    if (issuer) issuer.value = 'https://partners.example';
    await fill('textbox', 'Client ID', 'baton');
    await fill('textbox', 'Required authentication methods (amr)', 'mfa, hwk otp');
    await submit('textbox', 'Name');
    assert.deepEqual(service.askedFor('identity.identityProviders.create')[0]?.body, {
      key: 'partners',
      issuer: 'https://partners.example',
      audience: 'baton',
      requiredAmrValues: ['mfa', 'hwk', 'otp'],
      requiredAcrValues: [],
      lifecycleProfile: 'read_only',
      displayNameClaim: 'name',
      emailClaim: 'email',
      unknownPeople: 'request',
      offered: true,
      admit: null,
    });
    await click('button', 'Disable …');
    await click('button', 'Disable');
    assert.deepEqual(service.askedFor('identity.identityProviders.disable')[0]?.ids, [tenantId, 'corporate']);
  });

  test('the test of a provider shows each step, and a change sets the rule of coordination first', async () => {
    const provider = itemOf('identity.identityProviders.list', {
      key: 'corporate',
      issuer: 'https://login.example',
      audience: 'baton',
      status: 'active',
      required_amr_values: ['mfa'],
      required_acr_values: [],
      lifecycle_profile: 'read_only',
      display_name_claim: '',
      email_claim: 'email',
      unknown_people: 'create',
      offered: false,
      own_issuer: false,
      admit: null,
    });
    const test = exampleOf('identity.identityProviders.test');
    const failed = { step: 'redirect', status: 'failed', code: 'rejected', detail: evil } as const;
    const service = await openSection('providers', {
      'identity.identityProviders.list': [provider],
      'identity.identityProviders.test': { ...test, steps: [failed] },
      'identity.identityProviders.update': provider,
      'admissionRules.set': exampleOf('admissionRules.set'),
    });
    await click('button', 'Test sign-in');
    await see(evil);
    await click('button', 'Change corporate …');
    const field = (name: string) =>
      document.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`).item(1);
    field('issuer').value = 'https://new.example';
    field('admitRole').value = 'member';
    field('admitDomains').value = 'example.com, b.example';
    field('issuer').form?.requestSubmit();
    await settled();
    assert.deepEqual(service.askedFor('admissionRules.set')[0]?.body, { accessRole: 'member' });
    assert.deepEqual(service.askedFor('identity.identityProviders.update')[0]?.body, {
      issuer: 'https://new.example',
      audience: 'baton',
      requiredAmrValues: ['mfa'],
      requiredAcrValues: [],
      lifecycleProfile: 'read_only',
      displayNameClaim: 'name',
      emailClaim: 'email',
      unknownPeople: 'create',
      offered: false,
      admit: { role: 'member', domains: ['example.com', 'b.example'], groups: [] },
    });
  });
});

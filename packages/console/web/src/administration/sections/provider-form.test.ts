import assert from 'node:assert/strict';
import { afterEach, describe } from 'node:test';
import type { identity } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  describedBy,
  exampleOf,
  fill,
  find,
  itemOf,
  notSeen,
  open,
  see,
  settled,
  submit,
  test,
} from '../../testing/page.ts';

const { lockAdministration } = await import('../admin-secret.ts');
afterEach(lockAdministration);

const provider = (other: Partial<identity.IdentityProvider> = {}) =>
  itemOf('identity.identityProviders.list', {
    key: 'corporate',
    issuer: 'https://login.example',
    audience: 'baton',
    status: 'active',
    required_amr_values: [],
    required_acr_values: [],
    lifecycle_profile: 'read_only',
    display_name_claim: 'name',
    email_claim: 'email',
    unknown_people: 'request',
    offered: true,
    admit: null,
    ...other,
  });

async function openProviders(answers: Answers = {}) {
  const service = await open('/administration?section=providers', {
    answers: {
      'identity.tenants.get': exampleOf('identity.tenants.get'),
      'identity.identityProviders.list': [],
      ...answers,
    },
  });
  (await find('summary', 'Use the admin secret')).click();
  await fill('textbox', 'Admin secret', 's3cret');
  await submit('textbox', 'Admin secret');
  await find('summary', 'New identity provider');
  await settled();
  return service;
}

const input = (name: string) => document.querySelector<HTMLInputElement>(`input[name="${name}"]`);

async function register(): Promise<void> {
  (await find('summary', 'New identity provider')).click();
  await settled();
  await fill('combobox', 'Provider', 'Google');
  await fill('textbox', 'Client ID', 'baton');
  await submit('textbox', 'Client ID');
}

const refused = (detail: unknown, more: object = {}, status = 422) =>
  Response.json({ detail, ...more }, { status });
const isOpen = () => all('summary', 'Advanced')[0]?.closest('details')?.open;

describe('the form for a new provider', () => {
  test('shows what every provider needs, and folds the rest', async () => {
    await openProviders();
    (await find('summary', 'New identity provider')).click();
    await settled();
    await see('Issuer');
    await see('Client ID');
    await see('the file at BATON_CONSOLE_SECRETS_FILE');
    assert.equal(isOpen(), false);
    notSeen('E-mail claim');
    (await find('summary', 'Advanced')).click();
    await see('E-mail claim');
  });

  test('a preset fills in what is the same for everybody, and shows the form of the rest', async () => {
    const service = await openProviders({
      'identity.identityProviders.create': exampleOf('identity.identityProviders.create'),
    });
    (await find('summary', 'New identity provider')).click();
    await settled();
    await fill('combobox', 'Provider', 'Microsoft Entra ID');
    assert.deepEqual(
      [input('issuer')?.value, input('issuer')?.placeholder],
      ['', 'https://login.microsoftonline.com/TENANT-ID/v2.0'],
    );
    await see('entra https://login.microsoftonline.com SECRET');
    await fill('combobox', 'Provider', 'Google');
    await see('google https://oauth2.googleapis.com SECRET');
    await fill('textbox', 'Client ID', 'baton');
    await submit('textbox', 'Client ID');
    const [asked] = service.askedFor('identity.identityProviders.create');
    const { key, issuer, audience } = asked?.body as Record<string, unknown>;
    assert.deepEqual([key, issuer, audience], ['google', 'https://accounts.google.com', 'baton']);
    // The next one begins without a preset.
    (await find('summary', 'New identity provider')).click();
    await settled();
    assert.equal((await find<HTMLSelectElement>('combobox', 'Provider')).selectedIndex, 0);
    assert.equal(input('key')?.value, '');
  });

  test('shows a refused value beside its field until it is changed', async () => {
    await openProviders({
      'identity.identityProviders.create': () =>
        refused([{ type: 'custom', loc: ['body', 'audience'], msg: 'Must be a client ID.' }]),
    });
    await register();
    const client = await find('textbox', 'Client ID');
    assert.equal(document.activeElement, client);
    assert.equal(client.getAttribute('aria-invalid'), 'true');
    assert.match(describedBy(client), /Must be a client ID\.$/);
    notSeen('invalid_request');
    await fill('textbox', 'Client ID', 'other');
    notSeen('Must be a client ID.');
    assert.equal(client.getAttribute('aria-invalid'), null);
  });

  test('unfolds a refused field, also one that is part of a list', async () => {
    await openProviders({
      'identity.identityProviders.create': () =>
        refused([
          { type: 'custom', loc: ['body', 'admit', 'domains', 0], msg: 'must be a domain' },
          { type: 'custom', loc: ['body', 'requiredAmrValues', 2], msg: 'is too long' },
        ]),
    });
    await register();
    assert.equal(isOpen(), true);
    await see('must be a domain');
    await see('is too long');
    assert.equal(document.activeElement, input('amr'));
  });

  for (const [code, more, name, text] of [
    ['identity_provider_exists', {}, 'key', /already has an identity provider/],
    ['invalid_issuer', {}, 'issuer', /must be an http or https address/],
    ['outside_administration', { field: 'issuer' }, 'issuer', /^Only the operator of this installation/],
  ] as const)
    test(`shows ${code} beside its field, in words`, async () => {
      await openProviders({ 'identity.identityProviders.create': () => refused(code, more, 409) });
      await register();
      const field = input(name);
      assert.equal(document.activeElement, field);
      assert.match(document.querySelector('[role="alert"]')?.textContent ?? '', text);
    });

  test('shows a fault in no field of it above the fields, with its path, code and request', async () => {
    await openProviders({
      'identity.identityProviders.create': () =>
        Response.json(
          { detail: [{ type: 'custom', loc: ['body', 'groupMappings'], msg: 'has too many groups' }] },
          { status: 422, headers: { 'x-request-id': 'req_test' } },
        ),
    });
    await register();
    await see('These values were refused:\ngroupMappings has too many groups\ninvalid_request · req_test');
    const [summary] = all('alert');
    const first = await find('combobox', 'Provider');
    assert.ok(summary && summary.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_FOLLOWING);
  });
});

describe('the form that changes a provider', () => {
  async function change(other: Partial<identity.IdentityProvider>, answers: Answers = {}) {
    await openProviders({ 'identity.identityProviders.list': [provider(other)], ...answers });
    await click('button', 'Change corporate …');
    return all('summary', 'Advanced').at(-1)?.closest('details')?.open;
  }

  test('folds what is as usual', async () => {
    assert.equal(await change({}), false);
  });

  for (const [what, other] of [
    ['required methods', { required_amr_values: ['mfa'] }],
    ['a directory', { lifecycle_profile: 'managed' }],
    ['another claim', { email_claim: 'upn' }],
    ['people who are created', { unknown_people: 'create' }],
    ['no button', { offered: false }],
    ['automatic admission', { admit: { role: 'member', domains: ['example.com'], groups: [] } }],
  ] as const)
    test(`unfolds ${what}`, async () => {
      assert.equal(await change(other as Partial<identity.IdentityProvider>), true);
    });

  test('shows what is undecided beside its field', async () => {
    await change(
      {},
      { 'identity.identityProviders.update': () => refused('linked_people_undecided', {}, 409) },
    );
    await click('button', 'Save');
    const people = await find('combobox', 'People of the provider, if the issuer changes');
    assert.equal(document.activeElement, people);
    assert.match(describedBy(people), /Select whether they are the same people/);
  });
});

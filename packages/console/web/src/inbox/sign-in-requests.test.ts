import assert from 'node:assert/strict';
import { afterEach, describe, type TestContext } from 'node:test';
import {
  type Answers,
  all,
  click,
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
  settled,
  sockets,
  submit,
  test,
  until,
} from '../testing/page.ts';
import { graceId } from '../testing/tasks.ts';

const { lockAdministration } = await import('../administration/admin-secret.ts');
afterEach(lockAdministration);

const evil = '<img src=x onerror="window.ran=1">';
const request = (n: number) =>
  itemOf('identity.signInRequests.list', {
    id: `0190b2c4-0000-7000-8000-${String(n).padStart(12, '0')}`,
    displayName: `Petra ${n} ${evil}`,
    email: 'petra@example.com',
    emailVerified: true,
    identityProvider: 'corp',
    status: 'pending',
  });
const requests = (...numbers: number[]) => ({ items: numbers.map(request), next_after: null });
const pending = {
  id: '0190b2c4-0000-7000-8000-0000000000f1',
  taskId: null,
  artifactId: null,
  requestedBy: graceId,
  gate: false,
  comment: 'May I?',
  createdAt: '2026-03-02T09:00:00.000Z',
};
const role = (key: string, permissions: string[]) =>
  itemOf('accessRoles.list', { key, name: key, description: '', permissions, allows: permissions });

const usual: Answers = {
  'identity.tenants.get': exampleOf('identity.tenants.get'),
  'accessRoles.list': pageOf(role('member', ['tasks.read']), role('administrator', ['admin'])),
  'identity.signInRequests.list': requests(1, 2),
};
const inbox = () => all('link', /^Inbox/)[0]?.textContent;

/** Opens the inbox and unlocks the administration with the admin secret. */
async function openInbox(answers: Answers = {}) {
  const service = await open('/inbox', {
    me: { pendingApprovals: [pending] },
    answers: { ...usual, ...answers },
  });
  assert.equal(inbox(), 'Inbox1 pending');
  (await find('summary', 'Show sign-in requests')).click();
  (await find('summary', 'Use the admin secret')).click();
  await fill('textbox', 'Admin secret', 's3cret');
  await submit('textbox', 'Admin secret');
  await find('button', /^Admit /);
  await settled();
  return service;
}

const principalEvent = () =>
  itemOf('events.list', { type: 'principal.created', entityType: 'principal', actorId: graceId });

describe('sign-in requests', () => {
  test('count in the navigation with the pending approvals, until the administration is locked', async () => {
    await openInbox();
    assert.equal(inbox(), 'Inbox3 pending');
    await see(`Petra 1 ${evil}, petra@example.com, from corp`);
    await click('link', 'Projects');
    assert.equal(inbox(), 'Inbox3 pending');
    lockAdministration();
    await settled();
    assert.equal(inbox(), 'Inbox1 pending');
  });

  test('are counted as at least as many as one page has', async () => {
    await openInbox({ 'identity.signInRequests.list': { ...requests(1, 2), next_after: 'more' } });
    assert.equal(inbox(), 'Inbox3+ pending');
  });

  test('are counted again when the journal reports that somebody was admitted', async () => {
    const service = await openInbox();
    service.answer({ 'identity.signInRequests.list': requests(2) });
    await until(() => sockets.length > 0);
    sockets.at(-1)?.brings(principalEvent());
    await until(() => inbox() === 'Inbox2 pending');
  });

  test('are neither shown to nor counted for somebody who may not admit them', async () => {
    const service = await open('/inbox', {
      me: { permissions: everything.filter((name) => name !== 'principals.write') },
      answers: usual,
    });
    assert.ok(!isThere('heading', 'Sign-in requests'));
    assert.equal(service.askedFor('identity.signInRequests.list').length, 0);
  });

  test('are admitted with a role that this person may give', async () => {
    const service = await openInbox({
      'admissions.admitPerson': exampleOf('admissions.admitPerson'),
      'identity.signInRequests.admit': exampleOf('identity.signInRequests.admit'),
    });
    const [option] = all('option', /^administrator/) as HTMLOptionElement[];
    assert.equal(option?.disabled, true);
    service.answer({ 'identity.signInRequests.list': requests(2) });
    await click('button', `Admit Petra 1 ${evil}`);
    await see('is admitted with the role member.');
    const [asked] = service.askedFor('admissions.admitPerson');
    assert.equal((asked?.body as { accessRole: string }).accessRole, 'member');
    assert.equal(inbox(), 'Inbox2 pending');
    assert.equal(document.activeElement?.tagName, 'LI');
  });

  test('show beside the role why coordination refuses it', async () => {
    await openInbox({ 'admissions.admitPerson': new Refusal(403, 'permission_escalation', 'Too much.') });
    await click('button', `Admit Petra 1 ${evil}`);
    await see('Too much.');
    assert.equal(document.activeElement, await find('combobox', 'Admit as'));
    notSeen('permission_escalation');
  });

  test('are not read in the background without a valid token, which would lock the administration', async (t: TestContext) => {
    const service = await open('/inbox', {
      me: { permissions: [...everything, 'admin'] },
      answers: {
        ...usual,
        'identityAdministrationTokens.create': exampleOf('identityAdministrationTokens.create', {
          expiresAt: new Date(Date.now() + 290_000).toISOString(),
        }),
      },
    });
    await find('button', /^Admit /);
    await settled();
    const read = () => service.askedFor('identity.signInRequests.list').length;
    const before = read();
    const laterMs = Date.now() + 291_000;
    t.mock.method(Date, 'now', () => laterMs);
    t.mock.method(performance, 'now', () => laterMs);
    service.answer({
      'identityAdministrationTokens.create': new Refusal(403, 'fresh_sign_in_required', 'Sign in again.'),
    });
    sockets.at(-1)?.brings(principalEvent());
    dispatchEvent(new Event('focus'));
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    assert.equal(read(), before);
    assert.ok(isThere('button', /^Admit /));
  });
});

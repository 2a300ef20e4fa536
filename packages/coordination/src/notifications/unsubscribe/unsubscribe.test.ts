import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { putPreferences, unsubscribeToken } from '../../testing/notifications/notifications.ts';
import type { Unsubscription } from './unsubscribe-links.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const kind = 'decision.requested';
const tokenFor = (
  { tenantId, principalId }: Pick<Actor, 'tenantId' | 'principalId'>,
  more: Partial<Unsubscription> = {},
) => unsubscribeToken(baton, { tenantId, principalId, kind, ...more });
const open = (
  token: string,
  method = 'GET',
  init: { body?: string; headers?: Record<string, string> } = {},
) => baton.request(method, `/api/v1/notifications/unsubscribe?token=${encodeURIComponent(token)}`, init);
const click = (token: string) =>
  open(token, 'POST', {
    body: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const person = () => baton.actor({ kind: 'human', permissions: [] });
const modesOf = async (one: Actor) => (await done(one.get('/notifications/preferences'))).kinds;

test('opening a link shows a page with a button and changes nothing', async () => {
  const one = await person();
  const page = await open(tokenFor(one));
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.body, /<form method="post">/);
  assert.match(page.body, /Stop e-mail about decisions that wait for you\?/);
  for (const hidden of [one.principalId, one.tenantId]) assert.ok(!page.body.includes(hidden));
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'same-origin');
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /default-src 'none'.*frame-ancestors 'none'/,
  );
  assert.equal((await open(tokenFor(one), 'HEAD')).status, 200);
  assert.equal((await modesOf(one))[kind].mail, 'immediate');
  assert.equal((await done(one.get('/notifications/preferences'))).version, 0);
});

test('a POST without a sign-in ends the e-mails of that kind only, once, with an event without an actor', async () => {
  const one = await person();
  const other = await person();
  await done(putPreferences(one, { kinds: { [kind]: { slack: 'off' } } }));
  for (let n = 0; n < 2; n += 1) {
    const page = await click(tokenFor(one));
    assert.equal(page.status, 200);
    assert.match(page.body, /You get no more e-mail about decisions that wait for you/);
  }
  const modes = await modesOf(one);
  assert.deepEqual(modes[kind], { mail: 'off', slack: 'off' });
  assert.equal(modes['task.assigned'].mail, 'digest');
  assert.equal((await modesOf(other))[kind].mail, 'immediate');
  await journalIsStable(baton.pool);
  const { items } = await done(baton.admin.get(`/events?entityId=${one.principalId}&types=notification.`));
  assert.deepEqual(
    items.map(({ actorId, payload }: any) => [actorId, payload.via, payload.kinds[kind]]),
    [
      [one.principalId, 'api', { slack: 'off' }],
      [null, 'link', { mail: 'off', slack: 'off' }],
    ],
  );
});

test('a person without stored preferences gets them by the link', async () => {
  const one = await person();
  assert.equal((await click(tokenFor(one, { kind: 'task.assigned' }))).status, 200);
  assert.equal((await modesOf(one))['task.assigned'].mail, 'off');
});

test('programs may send the POST as a form of either kind', async () => {
  for (const type of ['multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']) {
    const one = await person();
    const body =
      type === 'application/x-www-form-urlencoded'
        ? 'List-Unsubscribe=One-Click'
        : '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n';
    const page = await open(tokenFor(one), 'POST', { body, headers: { 'content-type': type } });
    assert.equal(page.status, 200);
    assert.equal((await modesOf(one))[kind].mail, 'off');
  }
});

test('a link that was changed, or signed elsewhere, is refused alike for GET and POST', async () => {
  const [one, other] = [await person(), await person()];
  const token = tokenFor(one);
  const [content = '', mac = ''] = token.split('.');
  const ofOther = Buffer.from(`${other.tenantId}/${other.principalId}/${kind}`).toString('base64url');
  const wrong = [
    '',
    'x',
    content,
    `${content}.`,
    `${ofOther}.${mac}`,
    `${content}.${'A'.repeat(43)}`,
    `${token}A`,
  ];
  const pages = new Set<string>();
  for (const bad of wrong)
    for (const page of [await open(bad), await click(bad)]) {
      assert.equal(page.status, 400);
      pages.add(page.body);
    }
  assert.equal(pages.size, 1);
  assert.equal((await modesOf(other))[kind].mail, 'immediate');
});

test('a link for a principal that does not exist gets the same page, and writes nothing', async () => {
  const one = await person();
  const page = await click(tokenFor({ tenantId: one.tenantId, principalId: newId() }));
  assert.equal(page.status, 200);
  assert.equal(page.body, (await click(tokenFor(one))).body);
  // A principal of another tenant doesn't change the page either.
  const foreign = await baton.actor({ kind: 'human', permissions: [], tenantId: baton.otherTenantId });
  assert.equal(
    (await click(tokenFor({ tenantId: one.tenantId, principalId: foreign.principalId }))).status,
    200,
  );
  assert.equal((await modesOf(foreign))[kind].mail, 'immediate');
});

test('a long body is refused', async () => {
  const one = await person();
  const headers = { 'content-type': 'text/plain' };
  const page = await open(tokenFor(one), 'POST', { body: 'x'.repeat(5000), headers });
  assert.deepEqual([page.status, page.body.error.code], [413, 'request_too_large']);
  assert.equal((await modesOf(one))[kind].mail, 'immediate');
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';

/** Tests that the cost of one PATCH is limited, because other requests must wait for it. */

let identity: TestIdentity;
let client: ScimClient;
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  client = scimClient(identity, (await makeProvisioning(identity)).token);
});
after(() => identity.close());

const delayMsMax = 100;
const manyEmails = Array.from({ length: 1000 }, (_, n) => ({ value: `Mail${n}@example.com`, type: 'Work' }));
const makeUser = (more: object = {}) => made(client.post('/Users', { userName: randomUUID(), ...more }));
const terms = (count: number) =>
  Array.from({ length: count }, (_, n) => `value eq "n${n}@example.com"`).join(' or ');
const repeat = (count: number, path: string, value: unknown = 'x') =>
  Array.from({ length: count }, () => ({ op: 'replace', path, value }));

/**
 * The longest time that the event loop was blocked while `work` ran, in milliseconds of CPU time of this thread, so
 * that other processes of the machine don't count.
 */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let [isOver, longestMs] = [false, 0];
  let last = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(last);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    last = process.threadCpuUsage();
    if (!isOver) setImmediate(turn);
  };
  turn();
  await work();
  isOver = true;
  turn();
  return longestMs;
}

test('a PATCH of 500 operations with 43 terms on 1,000 e-mails is refused with 400 tooMany, and stops nobody', async () => {
  const { id } = await makeUser({ emails: manyEmails });
  const operations = repeat(500, `emails[${terms(42)} or value eq "mail999@example.com"].display`);
  let answer = { status: 0, body: {} as { scimType?: string; detail?: string } };
  const busyMs = await longestTurnMs(async () => {
    answer = await client.patch(`/Users/${id}`, operations);
  });
  assert.deepEqual([answer.status, answer.body.scimType], [400, 'tooMany']);
  assert.ok(busyMs < delayMsMax, `${busyMs} ms`);
});

test('the PATCHes that cost most stop nobody for 100 ms, whether they are taken or refused', async () => {
  const { id } = await makeUser({ emails: manyEmails });
  const long = 'a'.repeat(1000);
  await made(
    client.post('/Users', {
      userName: 'long',
      emails: manyEmails.slice(0, 200).map((one) => ({ ...one, display: long })),
    }),
  );
  const found = await client.get('/Users?filter=userName%20eq%20%22long%22');
  const longId = found.body.Resources[0].id;
  const add = (value: unknown) => ({ op: 'add', path: 'emails', value });
  const costly: Record<string, [string, unknown[]]> = {
    'taken, with many terms': [
      id,
      repeat(1, `emails[${terms(42)} or value eq "mail999@example.com"].display`),
    ],
    'taken, without a filter': [id, repeat(12, 'emails.display')],
    'a filter of long texts': [
      longId,
      repeat(90, `emails[display co "${'a'.repeat(900)}b" or value pr].type`),
    ],
    'order of long texts': [longId, repeat(90, `emails[display gt "${'a'.repeat(999)}b" or value pr].type`)],
    'no filter': [id, repeat(1000, 'emails.display')],
    'additions one by one': [
      id,
      Array.from({ length: 1000 }, (_, n) => add([{ value: `Mail${n}@example.com`, display: 'n' }])),
    ],
    'removals by value': [
      id,
      Array.from({ length: 50 }, () => ({ op: 'remove', path: 'emails', value: manyEmails.slice(0, 300) })),
    ],
    'long paths': [id, repeat(500, `emails[${Array(110).fill('value eq "x"').join(' or ')}].display`)],
    'deep paths': [
      id,
      repeat(
        70,
        `emails[${'('.repeat(14)}${Array(90).fill('not(type pr)').join(' or ')}${')'.repeat(14)}].type`,
      ),
    ],
  };
  const figures: Record<string, string> = {};
  for (const [name, [userId, operations]] of Object.entries(costly)) {
    let status = 0;
    const busyMs = await longestTurnMs(async () => {
      ({ status } = await client.patch(`/Users/${userId}`, operations));
    });
    figures[name] = `${status} ${Math.round(busyMs)} ms`;
    assert.ok(busyMs < delayMsMax, JSON.stringify(figures));
    assert.equal(status, name.startsWith('taken') ? 200 : 400, JSON.stringify(figures));
  }
  if (process.env['SHOW'] !== undefined) console.log(figures);
});

test('a PATCH of a group is refused with 400 tooMany when its paths are too long together', async () => {
  const { id } = await made(client.post('/Groups', { displayName: randomUUID() }));
  const one = `value eq "${randomUUID()}"`;
  const operations = Array.from({ length: 100 }, () => ({
    op: 'remove',
    path: `members[${Array(30).fill(one).join(' or ')}]`,
  }));
  const answer = await client.patch(`/Groups/${id}`, operations);
  assert.deepEqual([answer.status, answer.body.scimType], [400, 'tooMany']);
});

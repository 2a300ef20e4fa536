import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { openStream, type StreamClientOptions } from '../../testing/stream/stream-client.ts';

let baton: TestCoordination;
let reader: Actor;

before(async () => {
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '1' });
  reader = await baton.actor({ permissions: ['events.read'] });
});
after(() => baton.close());

const open = (options: StreamClientOptions = {}) =>
  openStream(baton.url, { token: reader.token, ...options });

/** The current end of the journal. */
async function endCursor(): Promise<string> {
  await journalIsStable(baton.pool);
  return (await reader.get('/events?tail=1')).body.nextCursor;
}

/** A change made over HTTP, so that the readers of this process are notified. */
async function change(): Promise<string> {
  const made = await baton.admin.post('/tasks', { title: 'seen on the stream' });
  assert.equal(made.status, 201);
  return made.body.id;
}

async function endsWith(options: StreamClientOptions, code: number): Promise<string> {
  const end = await openStream(baton.url, options).ended;
  assert.equal(end.code, code, end.reason);
  return end.reason;
}

test('each message has the form of a journal event, from the beginning by default', async () => {
  await change();
  const client = open();
  const [first] = await client.received(1);
  const { body } = await reader.get('/events?limit=1');
  assert.deepEqual(first, body.items[0]);
  await client.close();
});

test('after a cursor a stream sends later events, and new ones at once', async () => {
  const client = open({ query: `?after=${await endCursor()}` });
  await once(client.ws, 'open');
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let n = 1; n <= 5 || (isLongProof && fastestMs >= 900 && n <= 50); n += 1) {
    const startedAt = performance.now();
    const taskId = await change();
    const event = (await client.received(n)).at(-1);
    fastestMs = Math.min(fastestMs, performance.now() - startedAt);
    assert.equal((event as unknown as { entityId: string }).entityId, taskId);
  }
  // A busy machine can delay many of the events, so only the long proof checks the time. `notifier.test.ts` polls every
  // 600 s, so there only a notification delivers events.
  if (isLongProof) assert.ok(fastestMs < 900, 'not by the poll');
  await client.close();
});

test('a stream continues from the end of another one, by the cursor of its last event', async () => {
  const start = await endCursor();
  const first = open({ query: `?after=${start}` });
  await change();
  const [seen] = await first.received(1);
  await first.close();
  await change();
  const second = open({ query: `?after=${seen?.cursor}` });
  await change();
  const events = await second.received(2);
  assert.ok(events.every(({ id }) => id !== seen?.id));
  await second.close();
});

test('types filter a stream by prefix, for both earlier and new events; other query parameters are ignored', async () => {
  const start = await endCursor();
  await writeEvents(baton.pool, baton.tenantId, [
    { type: 'run.started' },
    { type: 'task.created' },
    { type: 'run.failed' },
  ]);
  const client = open({ query: `?after=${start}&types=run.&types=goal.,session.closed&_=1` });
  await client.received(2);
  await writeEvents(baton.pool, baton.tenantId, [{ type: 'task.created' }, { type: 'session.closed' }]);
  const events = await client.received(3);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['run.started', 'run.failed', 'session.closed'],
  );
  await client.close();
});

test('a sequence number is accepted as a legacy cursor', async () => {
  const { items } = (await reader.get('/events?tail=2')).body;
  const client = open({ query: `?after=${items[0].sequence}` });
  const [event] = await client.received(1);
  assert.equal(event?.id, items[1].id);
  await client.close();
});

test('a stream contains no event of another tenant', async () => {
  const theirs = openStream(baton.url, {
    token: baton.otherAdmin.token,
    query: `?after=${await endCursor()}`,
  });
  await once(theirs.ws, 'open');
  const mine = open({ query: `?after=${await endCursor()}` });
  await change();
  await mine.received(1);
  assert.deepEqual(theirs.events, []);
  await theirs.close();
  await mine.close();
});

test('the handshake is accepted and the stream is closed with 4401 for a missing or wrong credential', async () => {
  await endsWith({}, 4401);
  await endsWith({ token: 'nonsense' }, 4401);
  const expired = await baton.issuer.sign(
    { sub: reader.iamPrincipalId, tenant_id: reader.tenantId, scope: ['control-plane:read'] },
    { lifeSeconds: -60 },
  );
  await endsWith({ token: expired }, 4401);
});

test('4403 without events.read, without a scope, and for an inactive principal', async () => {
  const other = await baton.actor({ permissions: ['tasks.read'] });
  assert.equal(await endsWith({ token: other.token }, 4403), 'permission_denied');
  const unscoped = await baton.actor({ permissions: ['events.read'], scopes: ['memory:read'] });
  assert.equal(await endsWith({ token: unscoped.token }, 4403), 'scope_not_granted');
  const disabled = await baton.actor({ permissions: ['events.read'] });
  await baton.pool.run(sql`update principals set status = 'disabled' where id = ${disabled.principalId}`);
  assert.equal(await endsWith({ token: disabled.token }, 4403), 'principal_not_active');
});

test('4400 for an invalid cursor or type filter, and for a cursor before the end of deleted history', async () => {
  const { token } = reader;
  assert.equal(await endsWith({ token, query: '?after=nonsense' }, 4400), 'invalid_cursor');
  assert.equal(await endsWith({ token, query: '?after=ec9_x' }, 4400), 'unsupported_cursor_version');
  assert.equal(await endsWith({ token, query: '?types=A' }, 4400), 'invalid_event_type_filter');
  const { items } = (await reader.get('/events?limit=2')).body;
  await baton.pool.run(sql`
    update journal_floors f set floor_position = e.position, floor_sequence = e.sequence
    from events e where e.id = ${items[1].id} and f.tenant_id = e.tenant_id`);
  assert.equal(
    await endsWith({ token, query: `?after=${items[0].cursor}` }, 4400),
    'cursor_below_journal_floor',
  );
  const fromStart = open();
  await fromStart.received(1);
  await fromStart.close();
  await baton.pool.run(sql`update journal_floors set floor_position = 0, floor_sequence = 0`);
});

test('4400 also for an open stream whose position is deleted from the journal', async () => {
  const service = await baton.another();
  const client = openStream(service.url, { token: reader.token, query: `?after=${await endCursor()}` });
  await once(client.ws, 'open');
  await change();
  await client.received(1);
  await baton.pool.run(sql`
    update journal_floors set floor_position = 9000000000000000 where tenant_id = ${baton.tenantId}`);
  assert.deepEqual(await client.ended, { code: 4400, reason: 'cursor_below_journal_floor' });
  await baton.pool.run(sql`update journal_floors set floor_position = 0, floor_sequence = 0`);
  await service.close();
});

test('4404 for a workspace that does not exist or belongs to another tenant', async () => {
  const { id: theirs } = await makeWorkspace(baton);
  await endsWith({ token: reader.token, query: `?workspaceId=${newId()}` }, 4404);
  await endsWith({ token: baton.otherAdmin.token, query: `?workspaceId=${theirs}` }, 4404);
});

test('4404 for an invisible workspace, also when its stream is already open', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const person = await baton.actor({ kind: 'human', permissions: ['events.read'] });
  const options = { token: person.token, query: `?workspaceId=${workspaceId}` };
  const open = openStream(baton.url, options);
  await open.received(1);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
  );
  assert.equal((await open.ended).code, 4404);
  await endsWith(options, 4404);
});

test('1011 for an internal error, whether a stream is being opened or is open', async () => {
  const options = { token: reader.token };
  const following = openStream(baton.url, options);
  await following.received(1);
  await baton.pool.run(sql`alter function journal_horizon() rename to journal_horizon_away`);
  try {
    assert.deepEqual(await following.ended, { code: 1011, reason: 'internal_error' });
    assert.deepEqual(await openStream(baton.url, options).ended, { code: 1011, reason: 'internal_error' });
  } finally {
    await baton.pool.run(sql`alter function journal_horizon_away() rename to journal_horizon`);
  }
});

test('4400 for an invalid workspace id', async () => {
  await endsWith({ token: reader.token, query: '?workspaceId=x' }, 4400);
});

test('with workspaceId a stream has the events of the workspace and of those below it, including later ones', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const child = await makeWorkspace(baton, { parentId: workspaceId });
  const stream = open({ query: `?workspaceId=${workspaceId}` });
  await stream.received(2);
  const make = async (more: object) => (await baton.admin.post('/tasks', { title: 'x', ...more })).body.id;
  await make({});
  const inChild = await make({ workspaceId: child.id });
  await stream.received(3);
  await make({});
  const inIt = await make({ workspaceId });
  const seen = await stream.received(4);
  assert.deepEqual(
    seen.map((event) => (event as unknown as { entityId: string }).entityId),
    [workspaceId, child.id, inChild, inIt],
  );
  await stream.close();
});

test('4503 when the keys of identity are unavailable', async () => {
  const service = await baton.another({ CP_IAM_JWKS_URL: 'http://127.0.0.1:1/none' });
  const end = await openStream(service.url, { token: reader.token }).ended;
  assert.deepEqual(end, { code: 4503, reason: 'verification_unavailable' });
  await service.close();
});

test('checks are made in the order credential, cursor and types, permission, workspace', async () => {
  const other = await baton.actor({ permissions: ['tasks.read'] });
  const wrongAll = `?after=nonsense&workspaceId=${newId()}`;
  await endsWith({ query: wrongAll }, 4401);
  await endsWith({ token: other.token, query: wrongAll }, 4400);
  await endsWith({ token: other.token, query: `?workspaceId=${newId()}` }, 4403);
});

test('a browser sends its token as a second sub-protocol, and the response selects the sub-protocol baton', async () => {
  const client = openStream(baton.url, { protocols: ['baton', `bearer.${reader.token}`] });
  await client.received(1);
  assert.equal(client.ws.protocol, 'baton');
  await client.close();
  const refused = openStream(baton.url, { protocols: ['baton', 'bearer.nonsense'] });
  assert.equal((await refused.ended).code, 4401);
  const unnamed = openStream(baton.url, { protocols: [`bearer.${reader.token}`] });
  unnamed.ws.on('error', () => undefined);
  assert.equal((await unnamed.ended).code, 1006, 'a client refuses a handshake without its protocol');
});

test('a token that expires while the stream is open closes it with 4401', async () => {
  const shortLived = await baton.issuer.sign(
    { sub: reader.iamPrincipalId, tenant_id: reader.tenantId, scope: ['control-plane:read'] },
    // expired, but within the leeway of 5 s, so that the test is short
    { lifeSeconds: -3 },
  );
  const client = openStream(baton.url, { token: shortLived, query: `?after=${await endCursor()}` });
  await once(client.ws, 'open');
  const startedAt = performance.now();
  assert.equal((await client.ended).code, 4401);
  assertTookLess(startedAt, 5000);
});

test('a revoked binding closes its streams at once, in this process and in others', async () => {
  const slowPoll = { CP_WS_POLL_INTERVAL_SECONDS: '600' };
  const [here, there] = [await baton.another(slowPoll), await baton.another(slowPoll)];
  const actor = await baton.actor({ permissions: ['events.read'] });
  const streams = [here, there].map(({ url }) => openStream(url, { token: actor.token }));
  await Promise.all(streams.map((stream) => stream.received(1)));
  const bindings = await baton.admin.get(`/principals/${actor.principalId}/iam-bindings`);
  const startedAt = performance.now();
  const revoked = await fetch(`${here.url}/api/v1/iam-bindings/${bindings.body.items[0].id}:revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${baton.admin.token}` },
  });
  assert.equal(revoked.status, 200);
  for (const stream of streams) assert.equal((await stream.ended).code, 4401);
  assertTookLess(startedAt, 5000);
  await here.close();
  await there.close();
});

test('a credential that now belongs to another principal ends the stream within the poll interval: 4401', async () => {
  const service = await baton.another({ CP_IAM_BINDING_CACHE_TTL_SECONDS: '0' });
  const [actor, other] = [
    await baton.actor({ permissions: ['events.read'] }),
    await baton.actor({ permissions: ['events.read'] }),
  ];
  const stream = openStream(service.url, { token: actor.token });
  await stream.received(1);
  await baton.pool.run(
    sql`update iam_bindings set principal_id = ${other.principalId} where principal_id = ${actor.principalId}`,
  );
  const { code, reason } = await stream.ended;
  assert.deepEqual([code, reason], [4401, 'invalid_credentials']);
  await service.close();
});

test('a lost right without a notification ends the stream within the poll interval: 4403', async () => {
  const service = await baton.another({ CP_IAM_BINDING_CACHE_TTL_SECONDS: '0' });
  const actor = await baton.actor({ permissions: ['events.read'] });
  const stream = openStream(service.url, { token: actor.token });
  await stream.received(1);
  await baton.pool.run(sql`
    update iam_bindings set permissions = '{tasks.read}' where principal_id = ${actor.principalId}`);
  assert.equal((await stream.ended).code, 4403);
  await service.close();
});

test('frames from a client are ignored; a large frame ends the stream', async () => {
  const client = open({ query: `?after=${await endCursor()}` });
  await once(client.ws, 'open');
  client.ws.send('hello');
  client.ws.send(Buffer.alloc(1000));
  await change();
  await client.received(1);
  client.ws.send(Buffer.alloc(100_000));
  assert.equal((await client.ended).code, 1009);
});

test('CP_MAX_WS_PER_PRINCIPAL limits the open streams of one principal', async () => {
  const service = await baton.another({ CP_MAX_WS_PER_PRINCIPAL: '2' });
  const options = { token: reader.token, query: `?after=${await endCursor()}` };
  const [first, second] = [openStream(service.url, options), openStream(service.url, options)];
  await change();
  await Promise.all([first.received(1), second.received(1)]);
  assert.equal((await openStream(service.url, options).ended).code, 1013);
  await first.close();
  const third = openStream(service.url, options);
  await change();
  await third.received(1);
  await second.close();
  await third.close();
  await service.close();
});

test('by default one principal may have 500 open streams, while other principals can still open streams', async () => {
  const busy = await baton.actor({ permissions: ['events.read'] });
  const query = `?after=${await endCursor()}`;
  const openAs = ({ token }: Actor) => openStream(baton.url, { token, query });
  const clients = Array.from({ length: 500 }, () => openAs(busy));
  await change();
  await Promise.all(clients.map((client) => client.received(1)));
  assert.deepEqual(await openAs(busy).ended, { code: 1013, reason: 'too_many_streams' });
  const other = openAs(reader);
  await other.received(1);
  await Promise.all([...clients, other].map((client) => client.close()));
});

test('CP_MAX_WS_PER_PROCESS limits the open streams of a process: further ones get 1013', async () => {
  const service = await baton.another({ CP_MAX_WS_PER_PROCESS: '2' });
  const options = { token: reader.token, query: `?after=${await endCursor()}` };
  const [first, second] = [openStream(service.url, options), openStream(service.url, options)];
  await Promise.all([once(first.ws, 'open'), once(second.ws, 'open')]);
  assert.deepEqual(await openStream(service.url, options).ended, { code: 1013, reason: 'too_many_streams' });
  await first.close();
  const third = openStream(service.url, options);
  await change();
  await third.received(1);
  await second.close();
  await third.close();
  await service.close();
});

test('a shutdown ends every stream with 1001 and does not wait for unresponsive clients', async () => {
  const service = await baton.another();
  const client = openStream(service.url, { token: reader.token });
  await client.received(1);
  const still = openStream(service.url, { token: reader.token });
  await still.received(1);
  still.ws.pause();
  const startedAt = performance.now();
  await service.close();
  assertTookLess(startedAt, 4000);
  assert.equal((await client.ended).code, 1001);
});

test('an upgrade on another path returns 404, and so does a plain request to the stream', async () => {
  const upgrade = request(`${baton.url}/api/v1/other`, {
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  upgrade.end();
  const [answer] = await once(upgrade, 'response');
  assert.equal(answer.statusCode, 404);
  assert.equal((await reader.get('/events/ws')).status, 404);
});

test('a handshake without the headers of a WebSocket gets 400', async () => {
  const socket = connect(Number(new URL(baton.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    'GET /api/v1/events/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  );
  const [data] = await once(socket, 'data');
  assert.match(String(data), /^HTTP\/1\.1 400 /);
  socket.destroy();
});

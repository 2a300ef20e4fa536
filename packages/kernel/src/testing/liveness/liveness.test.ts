import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isLongProof, longTest } from '@baton/testing/depth';
import { endpointsOf, type Operation } from '../../http/service.ts';
import { createListener, openPort } from '../../listener/listener.ts';
import { createClient } from '../matrix/matrix-client.ts';
import { joinFixtures } from '../matrix/matrix-fixtures.ts';
import { findUnanswered, type LivenessSetup, openRig, type Rig, tryEndpoint } from './liveness.ts';

const endpoint = endpointsOf<{ code: string; permission: string; auth: string; context: object }>();
const planted = (name: string): Operation =>
  endpoint({
    id: `${name}It`,
    method: 'GET',
    path: `/${name}`,
    summary: 'Planted.',
    returns: { 200: null },
    handle: () => undefined,
  });
const endpoints = ['fair', 'fail', 'lock', 'spin', 'hold'].map(planted);
const refuse = { status: 400, code: 'invalid' };

const setup: LivenessSetup<object> = {
  service: 'planted',
  basePath: '/api',
  endpoints,
  migrationsDirectory: '',
  ignoredChanges: [],
  fixtures: joinFixtures([], () => ''),
  rulesOf: () => ({
    ...{ unauthenticated: refuse, invalid: refuse, unstorable: refuse, tooLarge: refuse },
    ...{ wrongMethod: refuse, keyRequired: refuse, keyTooLong: refuse },
  }),
  codeOf: () => undefined,
  keyRequired: () => false,
  bodyBytesMax: () => 1000,
  sizeBeforeCredential: () => true,
  program: {
    main: join(import.meta.dirname, 'liveness-planted.main.ts'),
    portSetting: 'PLANTED_PORT',
    readyPath: '/api/ordinary',
  },
  parallel: 2,
  ordinary: async () => [{ method: 'GET', path: '/api/ordinary' }],
  start: async () => ({
    ...{ url: 'http://127.0.0.1:1', databaseUrl: '', tenant: {}, otherTenant: {} },
    headersOf: () => ({}),
    close: async () => undefined,
  }),
};

let rig: Rig<object>;
before(async () => {
  if (isLongProof) rig = await openRig(setup);
});
after(() => rig?.close());

const broken: Record<string, RegExp | undefined> = {
  fair: undefined,
  fail: /the hostile caller got 500/,
  spin: /the event loop computed \d{3,} ms in one turn/,
  lock: /the bystander's p99 was \d+ ms/,
  hold: /the process grew by \d{3} MiB/,
};

for (const one of endpoints)
  longTest(`an endpoint that breaks a bound fails: ${one.path}`, { timeout: 90_000 }, async () => {
    const expected = broken[one.path.slice(1)];
    const problems = (await tryEndpoint(setup, rig, one)).join('\n');
    if (expected === undefined) assert.equal(problems, '');
    else assert.match(problems, expected);
  });

test('an endpoint that answers 500, or does not answer, is found by one request of each kind', async (t) => {
  const server = createListener({
    handler(req, res) {
      if (req.url === '/api/lock') req.destroy();
      else res.writeHead(req.url === '/api/fail' ? 500 : 200).end();
      return Promise.resolve();
    },
  });
  await openPort(server, '127.0.0.1', 0);
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const service = { ...(await setup.start()), url: `http://127.0.0.1:${port}` };
  const client = createClient(service.url);
  t.after(() => client.close());
  const [first = '', second = '', ...others] = await findUnanswered(setup, {
    adapter: setup,
    service,
    client,
  });
  assert.equal(first, 'GET /fail, as it is: 500');
  assert.match(second, /^GET \/lock, as it is: Error: socket hang up/);
  assert.deepEqual(others, []);
});

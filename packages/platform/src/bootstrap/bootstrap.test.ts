import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createCoordination } from '@baton/coordination/app/app';
import { createIdentity } from '@baton/identity/app/app';
import type { RunningService } from '@baton/kernel/http/running-service';
import { createTestDatabase, type TestDatabase } from '@baton/kernel/testing/database/database';
import { projectRoot } from '../config.ts';
import { type Home, openHome } from '../home.ts';
import { openRouter, type Router } from '../router.ts';
import { ensureSecrets, type Secrets } from '../secrets.ts';
import { privateFolder } from '../testing/private-folder.ts';
import { bootstrap } from './bootstrap.ts';
import { jsonApi } from './json-api.ts';
import { openState } from './state.ts';

let folder: ReturnType<typeof privateFolder>;
let home: Home;
let router: Router;
let secrets: Secrets;
let databases: TestDatabase[];
let services: RunningService[];
let issuer: string;
/** The number of responses that will still be delivered; later ones are lost, as in a crash. */
let responsesLeft = Infinity;

before(async () => {
  folder = privateFolder();
  home = openHome(folder.path);
  secrets = await ensureSecrets(home);
  router = await openRouter('127.0.0.1', 0, { hosts: [], ownOrigins: [], origins: [] });
  const migrations = (name: string) => join(projectRoot, 'packages', name, 'migrations');
  databases = [
    await createTestDatabase(migrations('identity')),
    await createTestDatabase(migrations('coordination')),
  ];
  issuer = `http://127.0.0.1:${router.port}/iam`;
  const identity = await createIdentity({
    env: {
      IAM_DATABASE_URL: databases[0]?.url,
      IAM_BOOTSTRAP_TOKEN: secrets.iamBootstrapToken,
      IAM_SIGNING_KEY_FILE: secrets.signingKeyFile,
      IAM_SIGNING_KEY_ID: secrets.signingKeyId,
      IAM_ISSUER: issuer,
      IAM_LOG_LEVEL: 'error',
    },
  });
  const coordination = await createCoordination({
    env: {
      CP_DATABASE_URL: databases[1]?.url,
      CP_BOOTSTRAP_TOKEN: secrets.cpBootstrapToken,
      CP_IAM_ISSUER: issuer,
      CP_IAM_JWKS_URL: `${issuer}/.well-known/jwks.json`,
      CP_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
      CP_LOG_LEVEL: 'error',
    },
  });
  services = [identity, coordination];
  router.routeTo({ identity: losingResponses(identity), coordination: losingResponses(coordination) });
  router.markReady();
});

after(async () => {
  await router?.drain(0);
  router?.close();
  for (const service of services ?? []) await service.close();
  for (const database of databases ?? []) await database.drop();
  home?.release();
  await folder?.remove();
});

/** The service does its work, but the connection is closed instead of sending the response. */
function losingResponses(service: RunningService): RunningService {
  return {
    ...service,
    handler(req, res) {
      const isKeyDocument = req.url?.startsWith('/.well-known/') ?? false;
      if (!isKeyDocument) responsesLeft -= 1;
      if (!isKeyDocument && responsesLeft < 0)
        res.end = () => {
          res.socket?.destroy();
          return res;
        };
      service.handler(req, res);
    },
  };
}

const run = () =>
  bootstrap({
    home,
    state: openState(home, issuer),
    url: `http://127.0.0.1:${router.port}`,
    secrets,
    scim: { audience: 'iam-scim', scope: 'scim:write' },
  });

interface JournalItem {
  readonly type: string;
  readonly payload: Record<string, unknown>;
}

async function journal(): Promise<JournalItem[]> {
  const api = jsonApi(issuer, { 'x-iam-bootstrap-token': secrets.iamBootstrapToken });
  const { body } = await api.send('GET', '/api/v1/events?limit=500');
  return body.items as JournalItem[];
}

test('a bootstrap that loses any one response is finished by the next, with one administrator and one live token', async () => {
  let losses = 0;
  for (;;) {
    responsesLeft = losses;
    try {
      await run();
      break;
    } catch {
      losses += 1;
    }
    assert.ok(losses < 40, 'it must finish at some point');
  }
  responsesLeft = Infinity;
  // At least eight of the responses for the tenant, the five audiences, the administrator, the sign-in, the token, the
  // exchange and the bootstrap.
  assert.ok(losses >= 8, `${losses} responses were lost`);
  const items = await journal();
  const count = (type: string) => items.filter((item) => item.type === type).length;
  assert.equal(count('tenant.created'), 1);
  assert.equal(count('principal.created'), 1);
  assert.equal(count('audience.created'), 5);
  assert.equal(count('platform_access_token.issued') - count('credential.revoked'), 1);
});

test('a repeated bootstrap changes nothing', async () => {
  const first = await run();
  const events = (await journal()).length;
  assert.deepEqual(await run(), first);
  assert.equal((await journal()).length, events);
});

test("the administrator's token is accepted by coordination with every scope", async () => {
  const { adminToken, adminPrincipalId } = await run();
  const identity = jsonApi(issuer, {});
  const exchanged = await identity.send('POST', '/api/v1/platform-access-tokens:exchange', {
    body: { token: adminToken, audience: 'control-plane' },
  });
  assert.deepEqual(exchanged.body.scope, [
    'control-plane:admin',
    'control-plane:read',
    'control-plane:write',
  ]);
  const api = jsonApi(`http://127.0.0.1:${router.port}`, {
    authorization: `Bearer ${exchanged.body.accessToken}`,
  });
  const { status, body } = await api.send('GET', `/api/v1/principals/${adminPrincipalId}`);
  assert.deepEqual([status, body.kind, body.displayName], [200, 'human', 'Administrator']);
});

test('a lost token file is replaced by a new token of the same administrator', async () => {
  const first = await run();
  rmSync(home.path('secrets', 'admin-token'));
  const second = await run();
  assert.notEqual(second.adminToken, first.adminToken);
  assert.equal(second.adminPrincipalId, first.adminPrincipalId);
  assert.deepEqual(await run(), second);
});

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { startIssuer } from '../../testing/issuer.ts';
import { until } from '../../testing/wait-until.ts';
import {
  createRevocations,
  type Revocations,
  RevocationsUnavailableError,
  revocationsUrlOf,
} from './revocations.ts';
import type { TokenClaims } from './tokens.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const sha256 = (id: string) => hash('sha256', id, 'base64url');
const nowSeconds = () => Math.floor(Date.now() / 1000);
const listOf = (id: string, notBefore: number | null = null) => ({
  not_before: 0,
  revoked: [{ sha256: sha256(id), not_before: notBefore }],
});
const noList = { not_before: 0, revoked: [] };

const statusOf = async (actor: Pick<Actor, 'get'>) => (await actor.get('/tasks?limit=1')).status;

test('a token is refused while its principal, credential, tenant or identity provider is revoked, and admitted afterwards', async () => {
  baton.issuer.revoke(noList);
  const { url, close } = await baton.another();
  const actor = await baton.actor();
  const credentialId = newId();
  const token = await baton.issuer.sign({
    sub: actor.iamPrincipalId,
    tenant_id: actor.tenantId,
    scope: ['control-plane:read'],
    credential_id: credentialId,
    client_id: 'idp:corporate',
  });
  const call = async () => {
    const { status } = await fetch(`${url}/api/v1/tasks?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return status;
  };
  assert.equal(await call(), 200);
  for (const id of [actor.iamPrincipalId, credentialId, actor.tenantId, `${actor.tenantId} idp:corporate`]) {
    baton.issuer.revoke(listOf(id));
    await until(async () => (await call()) === 401, 'the token is refused');
    baton.issuer.revoke(noList);
    await until(async () => (await call()) === 200, 'the token is admitted again');
  }
  baton.issuer.revoke(listOf(actor.iamPrincipalId, nowSeconds() + 60));
  await until(async () => (await call()) === 401, 'a token issued before the bound is refused');
  baton.issuer.revoke(listOf(actor.iamPrincipalId, nowSeconds() - 3600));
  await until(async () => (await call()) === 200, 'a token issued after the bound is admitted');
  baton.issuer.revoke({ ...noList, not_before: nowSeconds() + 60 });
  await until(async () => (await call()) === 401, 'a token issued before the bound of all tokens is refused');
  baton.issuer.revoke(undefined);
  await close();
});

test('the refusal has the usual form, and the first request waits for the list', async () => {
  const actor = await baton.actor();
  baton.issuer.revoke(listOf(actor.iamPrincipalId));
  const { url, close } = await baton.another();
  const answer = await fetch(`${url}/api/v1/tasks?limit=1`, {
    headers: { authorization: `Bearer ${actor.token}` },
  });
  const { error } = (await answer.json()) as { error: { code: string } };
  assert.deepEqual([answer.status, error.code], [401, 'invalid_credentials']);
  baton.issuer.revoke(undefined);
  await close();
});

test('no token is refused if identity publishes no list or is unavailable', async () => {
  baton.issuer.revoke(undefined);
  assert.equal(await statusOf(baton.admin), 200);
  const { url, close } = await baton.another({
    CP_IAM_REVOCATIONS_URL: 'http://127.0.0.1:1/revocations.json',
  });
  const answer = await fetch(`${url}/api/v1/tasks?limit=1`, {
    headers: { authorization: `Bearer ${baton.admin.token}` },
  });
  assert.equal(answer.status, 200);
  await close();
});

const claimsOf = (more: Partial<TokenClaims> = {}): TokenClaims => ({
  issuer: 'x',
  iamPrincipalId: newId(),
  iamTenantId: newId(),
  scopes: new Set(),
  purposeRef: undefined,
  acr: undefined,
  authTimeMs: undefined,
  credentialId: undefined,
  clientId: undefined,
  issuedAtSeconds: nowSeconds(),
  expiresAtMs: Date.now() + 3_600_000,
  ...more,
});

/** @param run receives the revocations after the first read of the list, and a counter of reported revocations */
async function withRevocations(
  list: object | undefined,
  options: { staleAfterMs?: number },
  run: (
    revocations: Revocations,
    issuer: Awaited<ReturnType<typeof startIssuer>>,
    told: () => number,
  ) => unknown,
): Promise<void> {
  const issuer = await startIssuer();
  issuer.revoke(list);
  let told = 0;
  const revocations = createRevocations({
    url: issuer.jwksUrl.replace('jwks.json', 'revocations.json'),
    // So long that only `refresh` reads the list again.
    intervalMs: 3_600_000,
    staleAfterMs: 300_000,
    requestTimeoutMs: 30_000,
    log: createLog({ name: 'test', level: 'silent' }),
    onRevocation: () => {
      told += 1;
    },
    ...options,
  });
  await revocations.ready();
  assert.equal(revocations.ready(), undefined, 'only the first request waits');
  await run(revocations, issuer, () => told);
  await revocations.close();
  await issuer.close();
}

test('while the list cannot be read, its entries remain, and tokens are accepted for a limited time after the last evidence', async () => {
  const [revoked, old] = [claimsOf(), claimsOf({ issuedAtSeconds: nowSeconds() - 3600 })];
  await withRevocations(listOf(revoked.iamPrincipalId), {}, async (revocations, issuer) => {
    for (const isServed of [true, false]) {
      issuer.serve(isServed);
      await revocations.refresh();
      assert.deepEqual([revocations.covers(revoked), revocations.covers(old)], [true, false]);
    }
  });
  await withRevocations(noList, { staleAfterMs: 1 }, async (revocations, issuer) => {
    issuer.serve(false);
    await new Promise((done) => setTimeout(done, 20));
    await revocations.refresh();
    assert.throws(() => revocations.covers(old), RevocationsUnavailableError);
    issuer.serve(true);
    await revocations.refresh();
  });
});

test('a list that could never be read limits the age of tokens; an unpublished list does not', async () => {
  const old = claimsOf({ issuedAtSeconds: nowSeconds() - 301 });
  await withRevocations({ another: 'form' }, {}, (revocations) => {
    assert.throws(() => revocations.covers(old), RevocationsUnavailableError);
    assert.equal(revocations.covers(claimsOf()), false);
  });
  await withRevocations({ another: 'form' }, { staleAfterMs: 0 }, (revocations) => {
    assert.equal(revocations.covers(old), false);
  });
  await withRevocations(undefined, {}, (revocations) => {
    assert.equal(revocations.covers(old), false);
  });
});

test('streams are notified of each change to the list that revokes something, and of no other change', async () => {
  await withRevocations(noList, {}, async (revocations, issuer, told) => {
    assert.equal(told(), 0);
    issuer.revoke(listOf(newId()));
    for (let count = 0; count < 3; count += 1) await revocations.refresh();
    assert.equal(told(), 1);
    issuer.revoke(noList);
    await revocations.refresh();
    assert.equal(told(), 1);
  });
});

test('the address of the list derives from that of the key document, unless a setting specifies it', () => {
  const urlOf = (given: string, keys: string) =>
    revocationsUrlOf({ CP_IAM_REVOCATIONS_URL: given, CP_IAM_JWKS_URL: keys });
  assert.equal(
    urlOf('', 'https://x.example/iam/.well-known/jwks.json'),
    'https://x.example/iam/.well-known/revocations.json',
  );
  assert.equal(urlOf('https://y.example/r', 'https://x.example/jwks.json'), 'https://y.example/r');
  assert.equal(urlOf('', 'https://x.example/keys'), undefined);
});

import assert from 'node:assert/strict';
import {
  constants,
  createHmac,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import { stopClock } from '../../testing/clock.ts';
import {
  type Actor,
  type Answer,
  listen,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const [genuine, stranger] = [rsa(), rsa()];
const keyId = 'genuine';

let baton: TestCoordination;
let agent: Actor;
let url: string;
let keyServer: Server;
let published: object[];
let fetches: string[];
const logged: string[] = [];
const closers: (() => Promise<void>)[] = [];

function jwkOf(key: KeyObject, kid = keyId): object {
  return { ...key.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' };
}

before(async () => {
  baton = await startCoordination();
  agent = await baton.actor();
  published = [jwkOf(genuine.publicKey)];
  fetches = [];
  keyServer = createServer((req, res) => {
    fetches.push(req.url ?? '');
    res.end(JSON.stringify({ keys: published }));
  });
  await new Promise<void>((done) => keyServer.listen(0, '127.0.0.1', done));
  const log = createLog({
    name: 'coordination',
    level: 'info',
    destination: { write: (line) => logged.push(line) },
  });
  const env = {
    ...baton.env,
    CP_IAM_JWKS_URL: `${keyUrl()}/keys`,
    CP_IAM_JWKS_MIN_REFRESH_INTERVAL_SECONDS: '0',
  };
  url = (await listen(env, closers, log)).url;
});
after(async () => {
  for (const close of closers) await close();
  keyServer.close();
  await baton.close();
});

function keyUrl(): string {
  return `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`;
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const nowSeconds = () => Math.floor(Date.now() / 1000);

function claims(changes: object = {}): object {
  const now = nowSeconds();
  return {
    iss: baton.issuer.issuer,
    aud: 'control-plane',
    sub: agent.iamPrincipalId,
    tenant_id: agent.tenantId,
    scope: ['control-plane:read', 'control-plane:write'],
    iat: now,
    nbf: now,
    exp: now + 300,
    jti: newId(),
    ...changes,
  };
}

function tokenOf(header: object, payload: unknown, signature: (input: string) => Buffer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signature(input).toString('base64url')}`;
}

const header = (changes: object = {}) => ({ alg: 'RS256', typ: 'at+jwt', kid: keyId, ...changes });
const byKey =
  (key: KeyObject, digest = 'sha256') =>
  (input: string) =>
    signBytes(digest, Buffer.from(input), key);
/** A token signed with the published key, whatever its header and claims contain. */
const genuinely = (changes: object = {}, headerChanges: object = {}) =>
  tokenOf(header(headerChanges), claims(changes), byKey(genuine.privateKey));

async function send(authorization: string): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/principals`, { headers: { authorization } });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

function lastReason(requestId: string): unknown {
  const line = logged.map((text) => JSON.parse(text)).find((entry) => entry.requestId === requestId);
  return line?.reason;
}

/** Checks that the response is the same for every reason, and that the log has the reason. */
async function refused(authorization: string, reason: string): Promise<void> {
  const { status, body, headers } = await send(authorization);
  const { requestId, ...error } = body.error;
  assert.equal(status, 401, `${reason}: ${JSON.stringify(body)}`);
  assert.deepEqual(error, {
    code: 'invalid_credentials',
    message: 'The credential is missing, wrong, expired, or not accepted here.',
    details: {},
  });
  assert.equal(headers.get('www-authenticate'), 'Bearer');
  assert.equal(lastReason(requestId), reason);
}

test('a genuine token is admitted, with its scheme in upper or lower case', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
    assert.equal((await send(`${scheme} ${genuinely()}`)).status, 200);
});

test('a malformed credential is refused', async () => {
  const token = genuinely();
  await refused('', 'credential_missing');
  await refused(`Basic ${token}`, 'credential_missing');
  await refused(token, 'credential_missing');
  await refused(`Bearer ${token} ${token}`, 'credential_missing');
  await refused('Bearer', 'credential_missing');
  await refused('Bearer zebra', 'unknown_form');
  await refused('Bearer ..', 'unknown_form');
  await refused(`Bearer ${token.split('.').slice(0, 2).join('.')}.`, 'unknown_form');
  await refused(`Bearer ${token}.more`, 'unknown_form');
  await refused(`Bearer ${token}.more.more`, 'unknown_form');
});

test('a platform access token is not admitted, only the token that identity issues for it', async () => {
  const token = `iam_pat_0123456789ab_${'A'.repeat(43)}`;
  for (const scheme of ['Bearer', 'bearer']) await refused(`${scheme} ${token}`, 'unknown_form');
});

test('an unsigned token is refused, however its algorithm is spelled', async () => {
  for (const alg of ['none', 'None', 'NONE', '', undefined, null, ['RS256']])
    await refused(`Bearer ${tokenOf(header({ alg }), claims(), () => Buffer.from('x'))}`, 'token_header');
});

test('a public key is never used as a shared secret', async () => {
  const pem = genuine.publicKey.export({ type: 'spki', format: 'pem' });
  const { n } = genuine.publicKey.export({ format: 'jwk' });
  for (const [alg, digest] of [
    ['HS256', 'sha256'],
    ['HS512', 'sha512'],
  ] as const)
    for (const secret of [pem, n as string, JSON.stringify(published[0])]) {
      const forged = tokenOf(header({ alg }), claims(), (input) =>
        createHmac(digest, secret).update(input).digest(),
      );
      await refused(`Bearer ${forged}`, 'token_header');
    }
  const renamed = tokenOf(header(), claims(), (input) => createHmac('sha256', pem).update(input).digest());
  await refused(`Bearer ${renamed}`, 'token_signature');
});

test('algorithms other than RS256 are refused', async () => {
  const pss = (input: string) =>
    createSign('sha256')
      .update(input)
      .sign({ key: genuine.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
  await refused(`Bearer ${tokenOf(header({ alg: 'PS256' }), claims(), pss)}`, 'token_header');
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await refused(
    `Bearer ${tokenOf(header({ alg: 'ES256' }), claims(), byKey(ec.privateKey))}`,
    'token_header',
  );
  const longer = tokenOf(header({ alg: 'RS512' }), claims(), byKey(genuine.privateKey, 'sha512'));
  await refused(`Bearer ${longer}`, 'token_header');
});

test('a key that is embedded in the token, or referenced by it, is neither used nor fetched', async () => {
  const own = stranger.publicKey.export({ format: 'jwk' });
  const elsewhere = `${keyUrl()}/attacker`;
  for (const changes of [
    { jwk: own },
    { jku: elsewhere },
    { x5u: elsewhere },
    { x5c: ['MIIB'] },
    { jwk: own, jku: elsewhere, kid: keyId },
  ]) {
    const forged = tokenOf(header(changes), claims(), byKey(stranger.privateKey));
    await refused(`Bearer ${forged}`, 'token_signature');
  }
  assert.ok(!fetches.includes('/attacker'));
});

test('a key id that is not published, is missing or is not a string is refused', async () => {
  for (const kid of ['zebra', '../keys', '__proto__', 'constructor', ''])
    await refused(`Bearer ${genuinely({}, { kid })}`, 'token_unknown_key');
  for (const kid of [undefined, null, 7, {}, ['genuine']])
    await refused(`Bearer ${genuinely({}, { kid })}`, 'token_header');
});

test('a header that requires an extension is refused, for example for an unencoded payload', async () => {
  for (const changes of [
    { crit: ['exp'], exp: nowSeconds() + 300 },
    { crit: ['b64'], b64: false },
    { crit: ['b64'], b64: true },
    { crit: [] },
    { crit: 'b64' },
  ])
    await refused(`Bearer ${genuinely({}, changes)}`, 'token_header');
});

test('a token of another type is refused', async () => {
  for (const typ of ['id_token', 'dpop+jwt', 'JOSE', 7, null])
    await refused(`Bearer ${genuinely({}, { typ })}`, 'token_header');
  for (const typ of ['JWT', 'at+jwt', 'application/at+jwt', undefined])
    assert.equal((await send(`Bearer ${genuinely({}, { typ })}`)).status, 200);
});

test('a changed payload, a foreign signature and a missing signature are refused', async () => {
  const [head, , signature] = genuinely().split('.') as [string, string, string];
  const richer = encode(claims({ scope: ['control-plane:admin'] }));
  await refused(`Bearer ${head}.${richer}.${signature}`, 'token_signature');
  await refused(`Bearer ${head}.${richer}.AAAA`, 'token_signature');
  await refused(`Bearer ${head}.${richer}.!!!!`, 'token_signature');
  await refused(`Bearer ${tokenOf(header(), claims(), byKey(stranger.privateKey))}`, 'token_signature');
  await refused(`Bearer !!!.${richer}.${signature}`, 'token_header');
  await refused(`Bearer ${encode('[]')}.${richer}.${signature}`, 'token_header');
});

test('a signed payload that is not a JSON object is refused', async () => {
  const signed = (payload: string) => `Bearer ${tokenOf(header(), payload, byKey(genuine.privateKey))}`;
  await refused(signed('zebra'), 'token_signature');
  await refused(signed('"zebra"'), 'token_payload');
  await refused(signed('null'), 'token_payload');
  await refused(signed('[]'), 'token_issuer');
  const input = `${encode(header())}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}`;
  const notText = `${input}.${byKey(genuine.privateKey)(input).toString('base64url')}`;
  await refused(`Bearer ${notText}`, 'token_signature');
});

test('the issuer is compared character by character', async () => {
  const { issuer } = baton.issuer;
  for (const iss of [
    undefined,
    null,
    '',
    `${issuer}/`,
    issuer.toUpperCase(),
    ` ${issuer}`,
    [issuer],
    { issuer },
  ])
    await refused(`Bearer ${genuinely({ iss })}`, 'token_issuer');
});

test('the audience must be exactly the configured one', async () => {
  const wrong = [
    undefined,
    null,
    '',
    'other',
    'control-plane ',
    [],
    ['control-plane', 'other'],
    ['control-plane', 'control-plane'],
    [['control-plane']],
    { 0: 'control-plane', length: 1 },
    7,
  ];
  for (const aud of wrong) await refused(`Bearer ${genuinely({ aud })}`, 'token_audience');
  assert.equal((await send(`Bearer ${genuinely({ aud: ['control-plane'] })}`)).status, 200);
});

test('times must be numbers, and clocks may differ by five seconds', async () => {
  const now = nowSeconds();
  for (const name of ['exp', 'nbf', 'iat'])
    for (const time of [undefined, null, `${now + 300}`, [now], true, '1e999'])
      await refused(`Bearer ${genuinely({ [name]: time })}`, 'token_times_missing');
  const endless = JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e999');
  await refused(`Bearer ${tokenOf(header(), endless, byKey(genuine.privateKey))}`, 'token_times_missing');
  await refused(`Bearer ${genuinely({ exp: now - 6 })}`, 'token_expired');
  await refused(`Bearer ${genuinely({ exp: 0 })}`, 'token_expired');
  await refused(`Bearer ${genuinely({ nbf: now + 60 })}`, 'token_not_yet_valid');
  await refused(`Bearer ${genuinely({ iat: now + 60 })}`, 'token_not_yet_valid');
  assert.equal((await send(`Bearer ${genuinely({ exp: now - 3 })}`)).status, 200);
  assert.equal((await send(`Bearer ${genuinely({ nbf: now + 3, iat: now + 3 })}`)).status, 200);
});

test('subject, tenant and id must be well-formed', async () => {
  for (const sub of [
    undefined,
    null,
    '',
    'zebra',
    7,
    [agent.iamPrincipalId],
    agent.iamPrincipalId.toUpperCase(),
  ])
    await refused(`Bearer ${genuinely({ sub })}`, 'token_subject');
  for (const jti of [undefined, 7]) await refused(`Bearer ${genuinely({ jti })}`, 'token_subject');
  for (const tenant_id of [undefined, null, '', 'zebra', [agent.tenantId]])
    await refused(`Bearer ${genuinely({ tenant_id })}`, 'token_tenant');
});

test('the binding is checked after the token: unknown, of another tenant, disabled, revoked', async () => {
  await refused(`Bearer ${genuinely({ sub: newId() })}`, 'binding_not_found');
  await refused(`Bearer ${genuinely({ tenant_id: newId() })}`, 'tenant_mismatch');
  for (const state of ['disabled', 'revoked']) {
    const other = await baton.actor();
    await baton.pool.run(
      sql`update iam_bindings set status = ${state} where principal_id = ${other.principalId}`,
    );
    await refused(`Bearer ${genuinely({ sub: other.iamPrincipalId })}`, `binding_${state}`);
  }
});

test('the status of the principal is checked after its binding, and the scopes last', async () => {
  const code = async (changes: object) => {
    const { status, body } = await send(`Bearer ${genuinely(changes)}`);
    return [status, body.error?.code];
  };
  for (const status of ['paused', 'disabled']) {
    const other = await baton.actor();
    const sub = other.iamPrincipalId;
    await baton.pool.run(sql`update principals set status = ${status} where id = ${other.principalId}`);
    assert.deepEqual(await code({ sub, scope: [] }), [403, 'principal_not_active']);
    await refused(`Bearer ${genuinely({ sub, tenant_id: newId() })}`, 'tenant_mismatch');
  }
  for (const scope of [
    undefined,
    null,
    '',
    [],
    {},
    7,
    ['other:read'],
    'control-plane:readable',
    ['control-plane:read control-plane:write'],
    [['control-plane:read']],
    ['CONTROL-PLANE:READ'],
  ])
    assert.deepEqual(await code({ scope }), [403, 'scope_not_granted'], JSON.stringify(scope));
  for (const scope of ['control-plane:read', 'other control-plane:read', ['control-plane:read', 7]])
    assert.equal((await send(`Bearer ${genuinely({ scope })}`)).status, 200);
  assert.deepEqual(await code({ scope: 'control-plane:write' }), [403, 'permission_denied']);
});

test('a token that exceeds the length limit is refused without being parsed', async () => {
  await refused(`Bearer ${genuinely({ padding: 'x'.repeat(9_500) })}`, 'token_too_long');
});

test('a previously admitted token is refused after it expires', async (t) => {
  const passTime = stopClock(t);
  // The token is refused 5 s after its expiry, which is 2 to 3 s from now.
  const token = genuinely({ exp: nowSeconds() - 2 });
  assert.equal((await send(`Bearer ${token}`)).status, 200);
  passTime(3100);
  await refused(`Bearer ${token}`, 'token_expired');
});

test('a previously admitted token is refused once its key is withdrawn', async () => {
  const token = genuinely();
  assert.equal((await send(`Bearer ${token}`)).status, 200);
  published = [jwkOf(stranger.publicKey, 'next')];
  const next = tokenOf(header({ kid: 'next' }), claims(), byKey(stranger.privateKey));
  assert.equal((await send(`Bearer ${next}`)).status, 200);
  await refused(`Bearer ${token}`, 'token_unknown_key');
  // The same id now refers to another key.
  published = [jwkOf(stranger.publicKey, keyId), jwkOf(stranger.publicKey, 'third')];
  assert.equal(
    (await send(`Bearer ${tokenOf(header({ kid: 'third' }), claims(), byKey(stranger.privateKey))}`)).status,
    200,
  );
  await refused(`Bearer ${token}`, 'token_signature');
});

test('a previously admitted token is refused once the keys are too old', async (t) => {
  const passTime = stopClock(t);
  let isUp = true;
  const keys = createServer((_req, res) => {
    if (isUp) res.end(JSON.stringify({ keys: [jwkOf(genuine.publicKey)] }));
    else res.writeHead(500).end();
  });
  await new Promise<void>((done) => keys.listen(0, '127.0.0.1', done));
  const env = {
    ...baton.env,
    CP_IAM_JWKS_URL: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/keys`,
    CP_IAM_JWKS_REFRESH_AFTER_SECONDS: '1',
    CP_IAM_JWKS_STALE_AFTER_SECONDS: '1',
    CP_IAM_JWKS_MIN_REFRESH_INTERVAL_SECONDS: '0',
  };
  const other = await listen(env, closers);
  const headers = { authorization: `Bearer ${genuinely()}` };
  const answer = async () => {
    const response = await fetch(`${other.url}/api/v1/principals`, { headers });
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
  };
  try {
    assert.deepEqual(await answer(), [200, undefined]);
    isUp = false;
    passTime(1100);
    assert.deepEqual(await answer(), [503, 'verification_unavailable']);
    isUp = true;
    assert.deepEqual(await answer(), [200, undefined]);
  } finally {
    keys.close();
  }
});

test('the log contains no token or part of one', () => {
  const lines = logged.join('');
  assert.ok(lines.length > 0);
  assert.doesNotMatch(lines, /eyJ/);
});

test('CP_IAM_ENABLED=false is ignored with a warning if issuer and key address are set', async () => {
  const before = logged.length;
  const log = createLog({
    name: 'coordination',
    level: 'warn',
    destination: { write: (line) => logged.push(line) },
  });
  const other = await listen({ ...baton.env, CP_IAM_ENABLED: 'false' }, closers, log);
  assert.match(logged.slice(before).join(''), /"level":"warn".*CP_IAM_ENABLED is false and is ignored/);
  const headers = { authorization: `Bearer ${agent.token}` };
  assert.equal((await fetch(`${other.url}/api/v1/principals`, { headers })).status, 200);
});

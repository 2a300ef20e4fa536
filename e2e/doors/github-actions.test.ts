import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { baton as runBaton } from '@baton/testing/baton-process';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// A job of GitHub Actions without a stored secret. The test runs its issuer, with its keys at its own address.

const requestToken = `request-token-${randomUUID()}`;
const repositoryId = '123456';

let baton: RunningBaton;
let folder: string;
let server: Server;
let issuer: string;
let audience: string;
let principalId: string;
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const strangers = generateKeyPairSync('rsa', { modulusLength: 2048 });
/** How often the keys were read, and tokens were requested. */
const reads = { keys: 0, tokens: 0 };
/** What the next token has instead of the usual values. */
let wrong: Wrong = {};

interface Wrong {
  readonly claims?: object;
  readonly alg?: string;
  readonly key?: KeyObject;
}

const nowSeconds = () => Math.floor(Date.now() / 1000);
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * The claims in GitHub's documentation, "OpenID Connect reference", "Example subject claims" and "OIDC token claims".
 */
function claimsOf(aud: string): object {
  const iat = nowSeconds();
  return {
    jti: randomUUID(),
    sub: 'repo:acme/shop:ref:refs/heads/main',
    aud,
    ref: 'refs/heads/main',
    sha: 'f1d2d2f924e986ac86fdf7b36c94bcdf32beec15',
    repository: 'acme/shop',
    repository_owner: 'acme',
    repository_owner_id: '42',
    run_id: '4242424242',
    run_number: '7',
    run_attempt: '1',
    repository_visibility: 'private',
    repository_id: repositoryId,
    actor_id: '12',
    actor: 'maria',
    workflow: 'Baton',
    head_ref: '',
    base_ref: '',
    event_name: 'push',
    ref_type: 'branch',
    ref_protected: 'true',
    workflow_ref: 'acme/shop/.github/workflows/baton.yml@refs/heads/main',
    workflow_sha: 'f1d2d2f924e986ac86fdf7b36c94bcdf32beec15',
    job_workflow_ref: 'acme/shop/.github/workflows/baton.yml@refs/heads/main',
    job_workflow_sha: 'f1d2d2f924e986ac86fdf7b36c94bcdf32beec15',
    runner_environment: 'github-hosted',
    iss: issuer,
    nbf: iat - 300,
    exp: iat + 300,
    iat,
  };
}

function makeToken(aud: string, { claims = {}, alg = 'RS256', key = keys.privateKey }: Wrong = {}): string {
  const text = `${encode({ typ: 'JWT', alg, x5t: 'k', kid: 'k' })}.${encode({ ...claimsOf(aud), ...claims })}`;
  const token = `${text}.${alg === 'none' ? '' : sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  keepSecret('job token', token);
  return token;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-github-actions-'));
  server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', issuer);
    const answer = (body: object) =>
      res.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (pathname === '/.well-known/openid-configuration')
      return void answer({
        issuer,
        jwks_uri: `${issuer}/.well-known/jwks`,
        id_token_signing_alg_values_supported: ['RS256'],
      });
    if (pathname === '/.well-known/jwks') {
      reads.keys += 1;
      const jwk = keys.publicKey.export({ format: 'jwk' });
      return void answer({ keys: [{ ...jwk, kid: 'k', alg: 'RS256', use: 'sig' }] });
    }
    const isJob = pathname === '/token' && req.headers.authorization === `Bearer ${requestToken}`;
    if (!isJob) return void res.writeHead(404).end();
    reads.tokens += 1;
    answer({ count: 1, value: makeToken(searchParams.get('audience') ?? '', wrong) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = `http://${host}`;
  baton = await startRunningBaton({ IAM_OUTBOUND_ALLOWED_HOSTS: JSON.stringify([host]) });
  audience = baton.connection.issuer.replace(/\/iam$/, '');
  const agent = await baton.participant();
  principalId = agent.principalId;
  const { identity } = baton.admin;
  const { tenantId } = baton.connection;
  const [bound] = (await baton.admin.principals.listIamBindings(principalId)).items;
  const key = 'github';
  await identity.identityProviders.create(tenantId, { key, issuer, audience, principalKind: 'none' });
  await identity.identityProviders.createWorkloadRule(tenantId, key, {
    key: 'acme-shop',
    principalId: bound?.iamPrincipalId ?? '',
    claims: { repository_id: { equals: repositoryId }, ref: { equals: 'refs/heads/main' } },
    audiences: ['control-plane'],
    scopeCeiling: ['control-plane:read', 'control-plane:write'],
    singleUse: true,
  });
});
after(async () => {
  server?.closeAllConnections();
  server?.close();
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** What the runner of GitHub Actions sets for a step with `id-token: write`, and nothing else. */
const job = () => ({
  HOME: folder,
  BATON_HOME: join(folder, 'none'),
  BATON_URL: audience,
  BATON_TENANT_ID: baton.connection.tenantId,
  GITHUB_ACTIONS: 'true',
  ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer}/token?api-version=2.0`,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
});

async function runJob(args: readonly string[]) {
  const { ended, output } = runBaton(args, job());
  const code = await ended;
  return { code, output: output() };
}

/** The request of RFC 7523 with one token. */
async function present(assertion: string) {
  const answer = await fetch(`${baton.url}/iam/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion,
      audience: 'control-plane',
    }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const refused = { status: 400, body: { error: 'invalid_grant' } };

test('a token made as GitHub Actions makes them takes a task to done with no stored secret', async () => {
  const task = await baton.admin.tasks.create({ title: 'Publish the shop', assigneeId: principalId });
  const began = performance.now();
  const runner = ['agent', 'run', '--folder', join(folder, 'runner'), '--exec', 'true', '--mine', '--once'];
  const { code, output } = await runJob(runner);
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`${task.publicId} done`));
  assert.equal((await baton.admin.tasks.get(task.id)).systemStatusCategory, 'terminal_success');
  assert.ok(reads.tokens >= 1 && reads.keys >= 1, JSON.stringify(reads));
  assert.ok(!output.includes(requestToken) && !output.includes('eyJ'), 'the output has a token');
  process.stdout.write(`# a job: 0 clicks, ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
});

describe('for the rule of a branch', () => {
  const far = nowSeconds();
  const cases: readonly (readonly [name: string, given: Wrong, code?: string])[] = [
    ['of another issuer', { claims: { iss: 'https://token.actions.example.com' } }],
    ['for another audience', { claims: { aud: 'https://sigstore.dev' } }],
    ['of another repository', { claims: { repository_id: '654321', repository: 'evil/shop' } }],
    [
      'of another ref',
      { claims: { ref: 'refs/heads/feature', sub: 'repo:acme/shop:ref:refs/heads/feature' } },
    ],
    ['that has expired', { claims: { iat: far - 900, nbf: far - 1200, exp: far - 300 } }],
    ['that is not yet valid', { claims: { nbf: far + 86_400, exp: far + 86_700 } }],
    // The programs don't even send a token without a signature.
    ['without a signature', { alg: 'none' }, 'no_identity_token'],
    ['signed by another key', { key: strangers.privateKey }],
  ];
  for (const [name, given, expected = 'invalid_assertion'] of cases)
    test(`a token ${name} gets nothing`, async () => {
      assert.equal((await present(makeToken(audience))).status, 200, 'the right one is accepted');
      assert.deepEqual(await present(makeToken(audience, given)), refused);
      wrong = given;
      const { code, output } = await runJob(['whoami']);
      wrong = {};
      assert.notEqual(code, 0);
      assert.ok(output.includes(expected), output);
      assert.ok(!output.includes('eyJ'), 'the output has a token');
    });

  test('a token that was used before gets nothing, where a rule allows one use', async () => {
    const token = makeToken(audience);
    assert.equal((await present(token)).status, 200);
    assert.deepEqual(await present(token), refused);
    assert.deepEqual(await present(token), refused);
    // Without the rule's `singleUse` the same token is accepted again.
    const { identityProviders } = baton.admin.identity;
    const { tenantId } = baton.connection;
    await identityProviders.updateWorkloadRule(tenantId, 'github', 'acme-shop', { singleUse: false });
    const another = makeToken(audience);
    assert.deepEqual([(await present(another)).status, (await present(another)).status], [200, 200]);
  });
});

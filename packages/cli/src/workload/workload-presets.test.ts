import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PlainError } from '../plain-error.ts';
import { type PresetOptions, readKeySet, readPreset } from './workload-presets.ts';

let environment: Record<string, string>;
let folder: string;
let answer: { status: number; body: string };
const seen: string[] = [];
const api = createServer((request, response) => {
  seen.push(`${request.url} ${request.headers.authorization}`);
  response.writeHead(answer.status).end(answer.body);
});
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-presets-'));
  await new Promise<void>((done) => api.listen(0, '127.0.0.1', done));
  environment = {
    GITHUB_API_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
    GITHUB_TOKEN: 'secret',
  };
});
after(() => {
  api.closeAllConnections();
  api.close();
  rmSync(folder, { recursive: true });
});

const read = (name: string, options: PresetOptions) => readPreset(name, options, environment);
const refuses = (message: RegExp, exitCode: number) => (error: unknown) => {
  assert.ok(error instanceof PlainError);
  assert.match(error.message, message);
  return error.exitCode === exitCode;
};

test('the rule of a GitHub repository has its id, read without a token, or the given one', async () => {
  answer = { status: 200, body: '{"id":123456}' };
  assert.deepEqual(await read('github', { repository: 'acme/Shop.app' }), {
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository_id: { equals: '123456' }, ref: { equals: 'refs/heads/main' } },
    ruleKey: 'acme-shop.app',
  });
  assert.deepEqual(seen, ['/repos/acme/Shop.app undefined']);
  const tags = await read('github', { repository: 'acme/shop', repositoryId: '7', ref: 'refs/tags/v*' });
  assert.deepEqual(tags.claims, { repository_id: { equals: '7' }, ref: { prefix: 'refs/tags/v' } });
  assert.equal(seen.length, 1);
});

test('a repository that GitHub does not show needs --repository-id', async () => {
  for (const given of [
    { status: 404, body: '{"message":"Not Found"}' },
    { status: 200, body: '{"id":"1"}' },
    { status: 200, body: '<html>' },
  ]) {
    answer = given;
    const advice = /Add --repository-id: gh api repos\/acme\/shop --jq .id prints it/;
    await assert.rejects(() => read('github', { repository: 'acme/shop' }), refuses(advice, 1));
  }
});

test('the rules of the other platforms', async () => {
  const gitlab = await read('gitlab', { projectId: '22', issuer: 'https://gitlab.acme.example' });
  assert.deepEqual(gitlab, {
    issuer: 'https://gitlab.acme.example',
    claims: { project_id: { equals: '22' }, ref_type: { equals: 'branch' }, ref: { equals: 'main' } },
    ruleKey: 'project-22',
  });
  const pod = await read('kubernetes', {
    namespace: 'agents',
    serviceAccount: 'release',
    issuer: 'https://k8s',
  });
  assert.deepEqual(pod.claims, { sub: { equals: 'system:serviceaccount:agents:release' } });
  assert.equal(pod.ruleKey, 'agents-release');
  const svid = await read('spiffe', { spiffeId: 'spiffe://acme.example/Agents/a', issuer: 'https://oidc' });
  assert.deepEqual(
    [svid.claims, svid.ruleKey],
    [{ sub: { equals: 'spiffe://acme.example/Agents/a' } }, 'agents-a'],
  );
});

test('a missing option is named', async () => {
  for (const [name, options, message] of [
    ['jenkins', {}, /--preset is one of github, gitlab, kubernetes, spiffe/],
    ['github', {}, /--repository must name/],
    ['github', { repository: 'shop' }, /--repository must name/],
    ['gitlab', { projectId: 'shop' }, /--project-id is the number/],
    ['kubernetes', { namespace: 'a' }, /--namespace and --service-account/],
    ['kubernetes', { namespace: 'a', serviceAccount: 'b' }, /--issuer is the issuer of the cluster/],
    ['spiffe', { spiffeId: 'acme' }, /--spiffe-id is the identity/],
    ['spiffe', { spiffeId: 'spiffe://a/b' }, /--issuer is the jwt_issuer/],
  ] as const)
    await assert.rejects(async () => read(name, options), refuses(message, 2), name);
});

test('a key file must be a JWKS document', async () => {
  const file = join(folder, 'keys.json');
  writeFileSync(file, '{"keys":[]}');
  assert.deepEqual(await readKeySet(file), { keys: [] });
  writeFileSync(file, '{"key":[]}');
  await assert.rejects(() => readKeySet(file), /has no list "keys"/);
  await assert.rejects(() => readKeySet(join(folder, 'none')), /can't be read as JSON/);
});

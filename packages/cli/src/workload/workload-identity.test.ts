import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { load, loadAll } from 'js-yaml';
import { repository } from '@baton/testing/baton-process';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// The pages of docs/workload-identity, followed as a reader would: the operator's commands, then the pipeline's.

const githubIssuer = 'https://token.actions.githubusercontent.com';
const requestToken = `request-token-${randomUUID()}`;

let baton: RunningBaton;
let folder: string;
let publicUrl: string;
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = { ...keys.publicKey.export({ format: 'jwk' }), kid: 'k' };
/** Claims that replace those of the main branch of acme/shop. */
let claims: Record<string, unknown> = {};
let tokensMade = 0;

const nowSeconds = () => Math.floor(Date.now() / 1000);

function signed(issuer: string, aud: string, changes: object): string {
  const iat = nowSeconds();
  const claimed = { iss: issuer, aud, jti: randomUUID(), iat, nbf: iat, exp: iat + 300, ...changes };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${encode(claimed)}`;
  return `${text}.${sign('sha256', Buffer.from(text), keys.privateKey).toString('base64url')}`;
}

/** GitHub, as a job sees it: the API that shows the id of a repository, and the server of identity tokens. */
const github = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://github');
  if (pathname === '/repos/acme/shop')
    return void response.end(JSON.stringify({ id: 123456, full_name: 'acme/shop' }));
  if (pathname !== '/token' || request.headers.authorization !== `Bearer ${requestToken}`)
    return void response.writeHead(404).end();
  tokensMade += 1;
  const job = {
    sub: 'repo:acme/shop:ref:refs/heads/main',
    repository: 'acme/shop',
    repository_id: '123456',
    repository_owner_id: '42',
    ref: 'refs/heads/main',
    event_name: 'push',
    ...claims,
  };
  response.end(JSON.stringify({ value: signed(githubIssuer, searchParams.get('audience') ?? '', job) }));
});

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-workload-identity-'));
  await new Promise<void>((done) => github.listen(0, '127.0.0.1', done));
  baton = await startRunningBaton();
  publicUrl = baton.connection.issuer.replace(/\/iam$/, '');
});
after(async () => {
  github.closeAllConnections();
  github.close();
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

const pageOf = (name: string) =>
  readFileSync(join(repository, 'docs', 'workload-identity', `${name}.md`), 'utf8');
const blockOf = (page: string, language: string) =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(pageOf(page))?.[1] ??
  assert.fail(`${page} has no ${language}`);
const githubUrl = () => `http://127.0.0.1:${(github.address() as AddressInfo).port}`;
const npx = `npx() { shift; '${process.execPath}' '${join(repository, 'bin', 'baton.mjs')}' "$@"; }`;

async function shell(lines: string, env: Readonly<Record<string, string>>): Promise<string> {
  const own = { PATH: process.env['PATH'] ?? '', HOME: folder, ...env };
  const words = ['-euo', 'pipefail', '-c', `${npx}\n${lines}`];
  const { stdout, stderr } = await promisify(execFile)('bash', words, { cwd: folder, env: own });
  return stdout + stderr;
}
const asOperator = (lines: string) => shell(lines, { BATON_HOME: baton.home, GITHUB_API_URL: githubUrl() });

/** The keys of the platform, which a test can't fetch from their real address. */
async function uploadKeys(provider: string): Promise<void> {
  const keySet = { keys: [{ ...jwk }] };
  const { identityProviders } = baton.admin.identity;
  await identityProviders.update(baton.connection.tenantId, provider, { keySet: keySet as never });
}

/** What a pipeline runs, without the lines that install Baton from a package. */
const own = (commands: readonly string[]) =>
  commands
    .filter((line) => !line.startsWith('npm install'))
    .map((line) => line.replace('agent run', `agent run --folder '${folder}/runner'`));

async function assertDone(title: string): Promise<void> {
  const { items } = await baton.admin.tasks.list({ q: title });
  assert.deepEqual(
    items.map((task) => [task.title, task.systemStatusCategory]),
    [[title, 'terminal_success']],
  );
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: {
    readonly work: { readonly env: object; readonly steps: readonly { readonly run?: string }[] };
  };
}
interface GitlabFile {
  readonly baton: {
    readonly id_tokens: { readonly BATON_IDENTITY_TOKEN: { readonly aud: string } };
    readonly variables: Readonly<Record<string, string>>;
    readonly script: readonly string[];
  };
}
// biome-ignore lint/suspicious/noExplicitAny: the assertions are about its form
type Deployment = any;

describe('a workflow of GitHub Actions', () => {
  const job = (env: Readonly<Record<string, string>> = {}) => ({
    BATON_URL: publicUrl,
    BATON_TENANT_ID: baton.connection.tenantId,
    GITHUB_REPOSITORY: 'acme/shop',
    GITHUB_REF_NAME: 'main',
    ACTIONS_ID_TOKEN_REQUEST_URL: `${githubUrl()}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
    ...env,
  });

  test('a token made as GitHub Actions makes them takes a task to done with no stored secret', async () => {
    const said = await asOperator(blockOf('github-actions', 'sh'));
    assert.match(
      said,
      /Rule github\/acme-shop lets tokens with \{"ref":\{"equals":"refs\/heads\/main"\},"repository_id":\{"equals":"123456"\}\}/,
    );
    await uploadKeys('github');
    const workflow = load(blockOf('github-actions', 'yaml')) as Workflow;
    assert.equal(workflow.permissions['id-token'], 'write');
    const { env, steps } = workflow.jobs.work;
    assert.deepEqual(Object.keys(env), ['BATON_URL', 'BATON_TENANT_ID']);
    assert.doesNotMatch(blockOf('github-actions', 'yaml'), /secrets\./);
    const commands = own(steps.flatMap(({ run }) => run ?? []));
    assert.equal(commands.length, 3);
    const output = await shell(commands.join('\n'), job());
    assert.match(output, /Release agent/);
    assert.match(output, /TASK-\d+ done/);
    await assertDone('Publish main of acme/shop');
    assert.ok(tokensMade >= 3, 'a fresh one for each program');
    assert.ok(!output.includes(requestToken) && !output.includes('eyJ'));
  });

  test('the command of a task gets no way to the identity of the job', async () => {
    const title = `Print everything ${randomUUID()}`;
    const command = `npx baton task create '${title}' --assignee me --json publicId
      npx baton agent run --folder '${folder}/printer' --exec env --mine --once`;
    await shell(command, job());
    const [task] = (await baton.admin.tasks.list({ q: title })).items;
    const [log] = (await baton.admin.artifacts.list({ taskId: task?.id ?? '' })).items;
    const printed = await (await baton.admin.artifacts.getContent(log?.id ?? '')).text();
    assert.match(printed, /^BATON_TASK=/m);
    assert.doesNotMatch(printed, /ID_TOKEN|BATON_IDENTITY/);
    assert.ok(!printed.includes(requestToken));
    await assertDone(title);
  });

  for (const [name, wrong] of [
    ['another repository', { repository_id: '654321' }],
    ['another branch', { ref: 'refs/heads/feature' }],
    ['an expired token', { iat: 1, nbf: 1, exp: nowSeconds() - 1 }],
    ['another issuer', { iss: 'https://token.actions.example.com' }],
    ['another audience', { aud: 'https://other.example.com' }],
  ] as const)
    test(`${name} gets nothing`, async () => {
      claims = wrong;
      await assert.rejects(
        () => shell('npx baton whoami', job()),
        ({ stderr }: { stderr: string }) =>
          /invalid_assertion: no workload rule accepts/.test(stderr) && !stderr.includes('eyJ'),
      );
      claims = {};
    });

  test('a removed rule ends it', async () => {
    await asOperator('npx baton workload remove github/acme-shop');
    await assert.rejects(() => shell('npx baton whoami', job()), /no workload rule accepts/);
    assert.match(await asOperator('npx baton workload list'), /There are no workload rules/);
  });
});

/** Runs the operator's command from a page, for a separate agent. */
async function addRule(words: string): Promise<string> {
  const agent = await baton.participant();
  const bindings = await baton.admin.principals.listIamBindings(agent.principalId);
  const iamId = bindings.items[0]?.iamPrincipalId ?? '';
  return asOperator(`npx baton workload add ${iamId} ${words}`);
}

test('the job of .gitlab-ci.yml takes a task to done', async () => {
  await addRule('--preset gitlab --project-id 22 --ref main');
  await uploadKeys('gitlab');
  const { baton: job } = load(blockOf('gitlab-ci', 'yaml')) as GitlabFile;
  assert.equal(job.id_tokens.BATON_IDENTITY_TOKEN.aud, job.variables['BATON_URL']);
  const named = {
    project_id: '22',
    ref_type: 'branch',
    ref: 'main',
    sub: 'project_path:acme/shop:ref_type:branch:ref:main',
  };
  const env = {
    BATON_URL: publicUrl,
    BATON_TENANT_ID: baton.connection.tenantId,
    BATON_IDENTITY_TOKEN: signed('https://gitlab.com', publicUrl, named),
    CI_PROJECT_PATH: 'acme/shop',
    CI_COMMIT_REF_NAME: 'main by GitLab',
  };
  assert.match(await shell(own(job.script).join('\n'), env), /TASK-\d+ done/);
  await assertDone('Publish main by GitLab of acme/shop');
});

test('the pod of the Deployment takes a task to done, by uploaded keys', async () => {
  const issuer = 'https://kubernetes.default.svc.cluster.local';
  const jwks = join(folder, 'jwks.json');
  writeFileSync(jwks, JSON.stringify({ keys: [{ ...jwk, use: 'sig', alg: 'RS256' }] }));
  await addRule(
    `--preset kubernetes --issuer ${issuer} --keys ${jwks} --namespace agents --service-account release`,
  );
  const [, deployment] = loadAll(blockOf('kubernetes', 'yaml')) as [unknown, Deployment];
  const { containers, volumes, serviceAccountName } = deployment.spec.template.spec;
  const [{ env, command, volumeMounts }] = containers;
  const [{ projected }] = volumes;
  const { path, audience } = projected.sources[0].serviceAccountToken;
  const settings = Object.fromEntries(
    env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  );
  assert.equal(settings.BATON_IDENTITY_TOKEN_FILE, `${volumeMounts[0].mountPath}/${path}`);
  assert.equal(audience, settings.BATON_URL);
  assert.deepEqual(command.slice(0, 4), ['npx', 'baton', 'agent', 'run']);
  const file = join(folder, 'projected-token');
  writeFileSync(
    file,
    signed(issuer, publicUrl, { sub: `system:serviceaccount:agents:${serviceAccountName}` }),
  );
  const pod = { BATON_URL: publicUrl, BATON_IDENTITY_TOKEN_FILE: file };
  const lines = `npx baton task create 'Done in a pod' --assignee me --json publicId
    npx baton agent run --folder '${folder}/pod' --exec 'true' --mine --once`;
  await shell(lines, pod);
  await assertDone('Done in a pod');
});

test('a workload with a SPIFFE ID is known by it; the file of the helper is read again', async () => {
  const issuer = 'https://oidc.acme.example';
  const bundle = join(folder, 'bundle.json');
  writeFileSync(
    bundle,
    JSON.stringify({
      spiffe_sequence: 1,
      keys: [{ ...jwk, use: 'jwt-svid' }],
    }),
  );
  const id = 'spiffe://acme.example/agents/release';
  await addRule(`--preset spiffe --issuer ${issuer} --keys ${bundle} --spiffe-id ${id}`);
  assert.match(blockOf('spiffe', 'hcl'), /jwt_audience = "https:\/\/baton\.example\.com"/);
  const file = join(folder, 'identity-token');
  const env = { BATON_URL: publicUrl, BATON_IDENTITY_TOKEN_FILE: file };
  writeFileSync(file, signed(issuer, publicUrl, { sub: id, jti: undefined, nbf: undefined }));
  assert.match(await shell('npx baton whoami', env), /a test/);
  writeFileSync(file, signed(issuer, publicUrl, { sub: `${id}/other` }));
  await assert.rejects(() => shell('npx baton whoami', env), /no workload rule accepts/);
});

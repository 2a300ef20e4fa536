import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BatonError, createClient } from '@baton/sdk';
import { program } from '@baton/testing/baton-process';
import { byDepth } from '@baton/testing/depth';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { expireToken } from '@baton/testing/token-expiry';
import { runCommand, type Said } from '../testing/run-command.ts';

// Cases in which `baton agent connect` doesn't simply succeed; packages/mcp/src/connect-agent.test.ts uses what it
// prints.

let baton: RunningBaton;
before(async () => {
  baton = await sharedBaton();
});
after(() => baton?.stop());

const newKey = () => `agent-${crypto.randomUUID().slice(0, 8)}`;
const argsFor = (key: string, ...more: string[]) => [
  'agent',
  'connect',
  `Agent ${key}`,
  '--key',
  key,
  '--client',
  'sdk',
  ...more,
];
const connect = (key: string, ...more: string[]): Promise<Said> =>
  runCommand(argsFor(key, ...more), { BATON_HOME: baton.home });
const connectAtOnce = (key: string, ...more: string[]) => connect(key, '--wait-seconds', '0', ...more);

const tokenIn = ({ text }: Pick<Said, 'text'>) =>
  /^BATON_TOKEN=(\S+)$/m.exec(text)?.[1] ?? assert.fail(`no token in: ${text}`);

/** All tokens that were issued to an agent, oldest first. */
async function tokensOf(key: string) {
  const { principalId } = await baton.admin.agents.get(key);
  const [binding] = (await baton.admin.principals.listIamBindings(principalId as string)).items;
  const { tenantId } = baton.connection;
  const query = { principalId: binding?.iamPrincipalId as string, includeRevoked: true };
  return baton.admin.identity.platformAccessTokens.list(tenantId, query);
}
const reasonsOf = async (key: string) => (await tokensOf(key)).map(({ revokeReason }) => revokeReason);

const call = (token: string) => createClient({ url: baton.url, credential: { token } }).harness.getContext();
const assertRejected = (token: string) =>
  assert.rejects(call(token), (error: unknown) => error instanceof BatonError && error.status === 401);

/** Starts the command in a separate process, which waits for the first call. */
async function connecting(key: string) {
  const running = program('packages/cli/src/main.ts', argsFor(key), { BATON_HOME: baton.home });
  await running.prints(/Waiting for its first call/);
  return { ...running, token: tokenIn({ text: running.output() }) };
}

test('it registers an agent with the permissions of its role but decisions, and a token that works', async () => {
  const key = newKey();
  const said = await connectAtOnce(key);
  assert.equal(said.code, 0, said.text);
  assert.match(said.text, /^For \.env of the program\. It contains the token of the agent agent-\S+, which/m);
  const { revision, displayName } = await baton.admin.agents.get(key);
  const { permissions } = await baton.admin.accessRoles.get('member');
  assert.deepEqual(
    [displayName, revision.spec.identity.permissions.toSorted(), revision.spec.executor?.kind],
    [`Agent ${key}`, permissions.filter((name) => name !== 'approvals.decide'), 'sdk'],
  );
  assert.equal((await call(tokenIn(said))).principal.displayName, `Agent ${key}`);
  const [token] = await tokensOf(key);
  assert.equal(token?.name, 'connect sdk');
  assert.equal(Date.parse(token.expiresAt) - Date.parse(token.createdAt), 90 * 86_400_000);
});

test('Ctrl-C while it waits revokes the token; the same command then continues with the agent', async () => {
  const key = newKey();
  const waiting = await connecting(key);
  waiting.child.kill('SIGINT');
  assert.equal(await waiting.ended, 1);
  assert.match(waiting.output(), /The token of \S+ has been revoked, and nothing can use it\./);
  await assertRejected(waiting.token);
  const again = await connectAtOnce(key);
  assert.equal(again.code, 0, again.text);
  assert.deepEqual(await reasonsOf(key), ['connect_cancelled', '']);
  assert.equal((await baton.admin.agents.get(key)).currentRevision, 1);
});

test('a token that a killed command left is listed, and the next run revokes it', async () => {
  const key = newKey();
  const waiting = await connecting(key);
  waiting.child.kill('SIGKILL');
  await waiting.ended;
  assert.deepEqual(await reasonsOf(key), ['']);
  const listed = await runCommand(['token', 'list', '--json'], { BATON_HOME: baton.home });
  assert.ok(listed.text.includes((await tokensOf(key))[0]?.id as string));
  assert.equal((await connectAtOnce(key)).code, 0);
  assert.deepEqual(await reasonsOf(key), ['replaced', '']);
  await assertRejected(waiting.token);
});

test('an attempt that ended before its token is continued, with the identity that it linked', async () => {
  const { tenantId, issuer } = baton.connection;
  for (const isLinked of [false, true]) {
    const key = newKey();
    const displayName = `Agent ${key}`;
    const executor = { kind: 'sdk', params: { connectedBy: 'sdk' } };
    const identity = { kind: 'agent' as const, permissions: ['tasks.read'] };
    await baton.admin.agents.publish({ key, spec: { displayName, identity, executor } });
    const { principals } = baton.admin.identity;
    const { id } = await principals.create(tenantId, { kind: 'agent', displayName });
    const link = { issuer, iamTenantId: tenantId, iamPrincipalId: id };
    if (isLinked) await baton.admin.agents.linkIdentity(key, link);
    const said = await connectAtOnce(key);
    assert.equal(said.code, 0, said.text);
    const tokens = await tokensOf(key);
    assert.deepEqual([tokens.length, tokens[0]?.principalId === id], [1, isLinked]);
    assert.equal((await call(tokenIn(said))).principal.displayName, displayName);
  }
});

test('an agent that works with its token keeps it, unless --replace is given', async () => {
  const key = newKey();
  const first = tokenIn(await connectAtOnce(key));
  await call(first);
  const refused = await connectAtOnce(key, '--role', 'viewer');
  assert.equal(refused.code, 1);
  assert.match(
    refused.text,
    /^The agent \S+ is connected, and used its token at .* --replace replaces it\.$/m,
  );
  assert.equal((await baton.admin.agents.get(key)).currentRevision, 1);
  await call(first);
  const replaced = await connectAtOnce(key, '--replace', '--role', 'viewer');
  assert.equal(replaced.code, 0, replaced.text);
  await assertRejected(first);
  assert.deepEqual(await reasonsOf(key), ['replaced', '']);
  assert.equal((await baton.admin.agents.get(key)).currentRevision, 2);
});

test('an agent whose token has expired gets another one without --replace', async () => {
  const key = newKey();
  await call(tokenIn(await connectAtOnce(key)));
  const [token] = await tokensOf(key);
  await expireToken(baton.databaseSettings.IAM_DATABASE_URL, token?.id as string);
  const said = await connectAtOnce(key);
  assert.equal(said.code, 0, said.text);
  await call(tokenIn(said));
});

test('of two commands for one agent at the same time, one token remains, and one identity', async () => {
  const { tenantId } = baton.connection;
  for (let round = 0; round < byDepth(3, 20); round += 1) {
    const key = newKey();
    const said = await Promise.all([connectAtOnce(key), connectAtOnce(key)]);
    const live = (await tokensOf(key)).filter(({ revokedAt }) => revokedAt === null);
    assert.equal(live.length, 1, said.map(({ text }) => text).join('\n'));
    for (const { code, text } of said) if (code !== 0) assert.match(text, /at the same time/);
    const { items } = await baton.admin.identity.principals.list(tenantId, { q: `Agent ${key}` });
    assert.equal(items.filter(({ status }) => status === 'active').length, 1);
  }
});

test('an agent that was registered in another way, or is retired, is left as it is', async () => {
  const key = newKey();
  const identity = { kind: 'agent' as const, permissions: ['tasks.read'] };
  await baton.admin.agents.publish({ key, spec: { displayName: 'Other', identity } });
  const refused = await connectAtOnce(key);
  assert.equal(refused.code, 1);
  assert.match(refused.text, /^The registry already has an agent \S+ that was not connected here/m);
  assert.equal((await baton.admin.agents.get(key)).displayName, 'Other');
  await baton.admin.agents.retire(key, { reason: 'It is a test' });
  assert.match(
    (await connectAtOnce(key)).text,
    /^The agent \S+ is retired, and its key is never used again/m,
  );
});

test('if the agent is retired while the command waits, it reports that', async () => {
  const key = newKey();
  const waiting = await connecting(key);
  await baton.admin.agents.retire(key, { reason: 'It is a test' });
  assert.equal(await waiting.ended, 1);
  assert.match(waiting.output(), /^The agent \S+ has been retired or disabled in the meantime\.$/m);
  await assert.rejects(call(waiting.token));
});

test('the wait is bounded, and leaves the token, which the message explains', async () => {
  const key = newKey();
  const said = await connect(key, '--wait-seconds', '1');
  assert.equal(said.code, 0, said.text);
  assert.match(
    said.text,
    /^No call has arrived yet\. The token remains valid until 20\S+; .* issues another one\.$/m,
  );
  await call(tokenIn(said));
});

test("without the permission admin nothing is created, and the message names it; without identity's secret either", async () => {
  const { permissions } = await baton.admin.accessRoles.get('lead');
  const lead = await baton.participant(permissions, 'human');
  const key = newKey();
  const environment = { BATON_URL: baton.url, BATON_TOKEN: lead.token };
  const refused = await runCommand(argsFor(key), environment);
  assert.equal(refused.code, 1);
  assert.match(refused.text, /^To connect an agent, you need the permission admin:/m);
  const withoutSecret = { BATON_URL: baton.url, BATON_TOKEN: baton.connection.adminToken };
  assert.match(
    (await runCommand(argsFor(key), withoutSecret)).text,
    /^Only the operator of Baton can run this.*connect an agent on the page Agents and sessions/m,
  );
  await assert.rejects(baton.admin.agents.get(key), (error: unknown) => (error as BatonError).status === 404);
});

test('roles of administrators, and roles that only let people decide, are refused', async () => {
  const key = `deciders-${crypto.randomUUID().slice(0, 8)}`;
  await baton.admin.accessRoles.create({ key, name: 'Deciders', permissions: ['approvals.decide'] });
  for (const role of ['administrator', key])
    assert.match(
      (await connectAtOnce(newKey(), '--role', role)).text,
      new RegExp(`^The access role ${role} is for people: choose another one\\.$`, 'm'),
    );
});

test('with --json it prints one object and does not wait; wrong options are usage errors', async () => {
  const key = newKey();
  const said = await connect(key, '--json');
  const { key: shown, format, snippet, credentialId } = JSON.parse(said.text) as Record<string, string>;
  assert.deepEqual([shown, format, credentialId], [key, 'env', (await tokensOf(key))[0]?.id]);
  await call(tokenIn({ text: String(snippet) }));
  const named = (...more: string[]) =>
    runCommand(['agent', 'connect', 'x', ...more], { BATON_HOME: baton.home });
  for (const [options, message] of [
    [[], /^--client is one of claude-code, codex, cursor, gemini, vscode, mcp, command, sdk\.$/m],
    [['--client', 'emacs'], /; got emacs\.$/m],
    [['--client', 'command'], /^--exec can only be used with --client command/m],
    [['--client', 'sdk', '--exec', 'true'], /^--exec can only be used with --client command/m],
    [['--client', 'sdk', '--stdio'], /^--stdio is for MCP clients/m],
    [['--client', 'sdk', '--expires-days', '0'], /whole number from 1 to 365/],
  ] as const) {
    const { code, text } = await named(...options);
    assert.match(text, message);
    assert.equal(code, 2);
  }
  assert.match((await named('--client', 'sdk', '--role', 'nobody')).text, /not_found/);
  const nameless = await runCommand(['agent', 'connect', '***', '--client', 'sdk'], {
    BATON_HOME: baton.home,
  });
  assert.match(nameless.text, /^No key can be derived from the name "\*\*\*"/m);
});

test('the token is in no event of the journal, and in no record of the audit', async () => {
  const key = newKey();
  const token = tokenIn(await connectAtOnce(key));
  const { tenantId } = baton.connection;
  const journal: string[] = [];
  const { principalId } = await baton.admin.agents.get(key);
  for await (const event of baton.admin.events.list({})) journal.push(JSON.stringify(event));
  assert.ok(journal.some((line) => line.includes(String(principalId))));
  const audit = JSON.stringify(await baton.admin.identity.audit.listRecords({ tenantId, order: 'desc' }));
  assert.ok(!journal.join('').includes(token) && !audit.includes(token));
});

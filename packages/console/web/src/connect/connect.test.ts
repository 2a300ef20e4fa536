import assert from 'node:assert/strict';
import { afterEach, describe } from 'node:test';
import type { IamBinding, Session } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  copied,
  everything,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  settled,
  submit,
  test,
  unseen,
  until,
} from '../testing/page.ts';
import { graceId } from '../testing/tasks.ts';

const { lockAdministration } = await import('../administration/admin-secret.ts');
afterEach(lockAdministration);

const evil = '<img src=x onerror="window.ran=1">';
const token = 'iam_pat_0123456789ab_secret';
const tenantId = '0190b2c4-0000-7000-8000-00000000007e';
const iamPrincipalId = '0190b2c4-0000-7000-8000-00000000001a';
const credentialId = '0190b2c4-0000-7000-8000-0000000000c1';
const mcpMetadata = '/.well-known/oauth-protected-resource/mcp';

const permission = (name: string, peopleOnly = false) => ({ name, allows: `to ${name}`, peopleOnly });
const role = (key: string, permissions: string[]) =>
  itemOf('accessRoles.list', { key, name: `Role ${key}`, permissions });
const agent = (principalId: string | null = graceId) => {
  const example = exampleOf('agents.get');
  return { ...example, displayName: `Grace ${evil}`, status: 'active' as const, principalId };
};
const binding = (other: Partial<IamBinding> = {}) =>
  itemOf('principals.listIamBindings', {
    issuer: 'https://iam.test',
    iamTenantId: tenantId,
    iamPrincipalId,
    status: 'active',
    lastUsedAt: null,
    ...other,
  });
const credential = { ...exampleOf('identity.platformAccessTokens.get'), id: credentialId };

/** A Baton where a new agent is connected, and which then reports these calls from it. */
function world(more: Answers = {}): Answers {
  return {
    'accessRoles.list': pageOf(
      role('administrator', ['admin', 'tasks.read']),
      role('deciders', ['approvals.decide']),
      role('member', ['approvals.decide', 'sessions.open', 'tasks.read']),
      role('viewer', ['tasks.read']),
    ),
    'accessRoles.get': ({ ids: [key = ''] }) =>
      role(key, ['approvals.decide', 'sessions.open', 'tasks.read']),
    'permissions.list': {
      items: [
        permission('admin', true),
        permission('approvals.decide', true),
        permission('sessions.open'),
        permission('tasks.read'),
      ],
      nextCursor: null,
    },
    'agents.get': new Refusal(404, 'not_found'),
    'agents.publish': agent(null),
    'agents.linkIdentity': agent(),
    'identity.tenants.get': exampleOf('identity.tenants.get'),
    'identityAdministrationTokens.create': new Refusal(403, 'fresh_sign_in_required', 'Sign in again.'),
    'identity.principals.create': exampleOf('identity.principals.create', { id: iamPrincipalId }),
    'identity.principals.createToken': { credential, token },
    'identity.platformAccessTokens.revoke': () => new Response(null, { status: 204 }),
    'principals.listIamBindings': pageOf(binding()),
    'sessions.list': pageOf(),
    ...more,
  };
}

async function openDialog(answers: Answers = {}) {
  const service = await open('/agents', {
    me: { permissions: [...everything, 'admin'] },
    answers: world(answers),
    others: { [mcpMetadata]: { resource: 'http://baton.test/mcp' } },
  });
  await click('button', 'Connect an agent');
  return service;
}

async function unlock(): Promise<void> {
  (await find('summary', 'Use the admin secret')).click();
  await fill('textbox', 'Admin secret', 's3cret');
  await submit('textbox', 'Admin secret');
  await find('combobox', 'Access role');
  await settled();
}

async function connect(client: string, answers: Answers = {}) {
  const service = await openDialog(answers);
  await unlock();
  await fill('combobox', 'Client', client);
  await fill('textbox', 'Name', ' Codex of María ');
  if (client === 'command') await fill('textbox', 'Command for each task', './work.sh');
  await click('button', 'Connect');
  return service;
}

describe('the dialog that connects an agent', () => {
  test('is not offered without the permission admin', async () => {
    await open('/agents', { me: { permissions: everything }, answers: world() });
    await see('No active sessions');
    assert.ok(!isThere('button', 'Connect an agent'));
  });

  test('offers the roles that an agent can have, with what they allow it', async () => {
    await openDialog();
    await unlock();
    const [roles] = all('combobox', 'Access role') as HTMLSelectElement[];
    assert.deepEqual(
      [...(roles?.options ?? [])].map(({ value }) => value),
      ['member', 'viewer'],
    );
    assert.equal(roles?.value, 'member');
    (await find('summary', 'What the agent may do')).click();
    await see('to sessions.open');
    notSeen('to approvals.decide');
  });

  test('registers the agent, links it, issues a token, and shows what to paste', async () => {
    const service = await connect('codex');
    await see('[mcp_servers.baton]');
    await see('http_headers = { Authorization = "Bearer iam_pat_0123456789ab_secret" }');
    await see('Paste this into ~/.codex/config.toml.');
    await see('Waiting for the first call …');
    const [published] = service.askedFor('agents.publish');
    assert.deepEqual(published?.body, {
      key: 'codex-of-maria',
      spec: {
        displayName: 'Codex of María',
        identity: { kind: 'agent', permissions: ['sessions.open', 'tasks.read'] },
        work: { onlyAssigned: false },
        executor: { kind: 'codex', params: { connectedBy: 'codex' } },
      },
    });
    const [issued] = service.askedFor('identity.principals.createToken');
    assert.deepEqual(issued?.body, {
      name: 'connect codex',
      audiences: ['control-plane'],
      scopeCeiling: ['control-plane:read', 'control-plane:write'],
      expiresInSeconds: 90 * 86_400,
    });
    await click('button', 'Copy');
    assert.match(String(copied[0]), /iam_pat_0123456789ab_secret/);
    assert.ok(!document.cookie.includes(token) && !location.href.includes(token));
    // The token is shown once: a key press doesn't discard it.
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    await settled();
    await see('[mcp_servers.baton]');
    await click('button', 'Done');
    await unseen('[mcp_servers.baton]');
    assert.equal(service.askedFor('identity.platformAccessTokens.revoke').length, 0);
  });

  test('names the client and its machine, as its session does, once it has called', async () => {
    let sessions: Session[] = [];
    await connect('claude-code', { 'sessions.list': () => pageOf(...sessions) });
    await see('Waiting for the first call …');
    sessions = [itemOf('sessions.list', { clientName: `codex ${evil}`, hostname: 'maria-laptop' })];
    await see(`codex ${evil} on maria-laptop is connected as Grace ${evil}.`);
    assert.equal(document.querySelector('img'), null);
    assert.ok(!isThere('button', 'Cancel and revoke the token'));
  });

  test('a first call without a session is shown without a name', async () => {
    let lastUsedAt: string | null = null;
    const answers: Answers = {
      'accessRoles.get': role('viewer', ['tasks.read']),
      'principals.listIamBindings': () => pageOf(binding({ lastUsedAt })),
    };
    await connect('sdk', answers);
    await see('BATON_TOKEN=iam_pat_0123456789ab_secret');
    lastUsedAt = '2026-11-28T08:00:00.000Z';
    await see(`Grace ${evil} is connected: its first call has arrived.`);
  });

  test('cancelling revokes the token, and closes', async () => {
    const service = await connect('command');
    await see("--exec './work.sh'");
    await click('button', 'Cancel and revoke the token');
    await unseen('--exec');
    const [revoked] = service.askedFor('identity.platformAccessTokens.revoke');
    assert.deepEqual(revoked?.ids, [tenantId, credentialId]);
    assert.equal(revoked?.query['reason'], 'connect_cancelled');
  });

  test('if the token can not be revoked, it reports where it is listed', async () => {
    await connect('mcp', { 'identity.platformAccessTokens.revoke': new Refusal(503, 'unavailable') });
    await click('button', 'Cancel and revoke the token');
    await see(/could not be revoked and remains valid/);
  });

  test('an agent that is connected keeps its token until it is replaced on request', async () => {
    const known = { ...agent(), revision: { ...agent().revision } };
    known.revision.spec = {
      ...known.revision.spec,
      executor: { kind: 'codex', params: { connectedBy: 'codex' }, instructions: '' },
    };
    const used = {
      ...credential,
      name: 'connect codex',
      revokedAt: null,
      lastUsedAt: '2026-11-28T08:00:00.000Z',
      expiresAt: '2999-01-01T00:00:00.000Z',
    };
    const service = await connect('codex', {
      'agents.get': known,
      'agents.publish': agent(),
      'identity.platformAccessTokens.list': [used],
    });
    await see(/The agent codex-of-maria is connected, and used its token at/);
    assert.equal(service.askedFor('agents.publish').length, 0);
    await click('button', 'Replace the token');
    await see('[mcp_servers.baton]');
    const [revoked] = service.askedFor('identity.platformAccessTokens.revoke');
    assert.equal(revoked?.query['reason'], 'replaced');
  });

  test('a dialog that is closed while it connects revokes the token that nobody sees', async () => {
    const gate = Promise.withResolvers<void>();
    const service = await openDialog({
      'identity.principals.createToken': async () => {
        await gate.promise;
        return { credential, token };
      },
    });
    await unlock();
    await fill('textbox', 'Name', 'Codex');
    const [button] = all('button', 'Connect');
    button?.click();
    await until(() => service.askedFor('identity.principals.createToken').length === 1);
    all('button', 'Cancel')[0]?.click();
    gate.resolve();
    await until(() => service.askedFor('identity.platformAccessTokens.revoke').length === 1);
    notSeen(token);
  });

  test('where the services run separately, an MCP client starts the server on its machine', async () => {
    await open('/agents', {
      me: { permissions: [...everything, 'admin'] },
      answers: world(),
      others: { [mcpMetadata]: new Refusal(404, 'not_found') },
    });
    await click('button', 'Connect an agent');
    await unlock();
    await fill('textbox', 'Name', 'Codex');
    await click('button', 'Connect');
    await see('"command": "baton"');
    await click('button', 'Done');
  });
});

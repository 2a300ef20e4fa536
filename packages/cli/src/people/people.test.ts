import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient, type identity } from '@baton/sdk';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

let baton: RunningBaton;
let tenant: string;
let issuer: string;
let api: ReturnType<typeof createClient>['identity'];

before(async () => {
  baton = await sharedBaton();
  const { tenantId, iamBootstrapToken: adminSecret, issuer: ownIssuer } = baton.connection;
  [tenant, issuer] = [tenantId, ownIssuer];
  ({ identity: api } = createClient({ url: baton.url, adminSecret }));
});
after(() => baton?.stop());

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(args, { BATON_HOME: baton.home, HOME: baton.home, ...environment });

async function done(args: readonly string[]): Promise<string> {
  const { code, text } = await run(args);
  assert.equal(code, 0, text);
  return text;
}
const json = async (args: readonly string[]) => JSON.parse(await done([...args, '--json']));
async function refused(args: readonly string[], environment = {}): Promise<string> {
  const { code, text } = await run(args, environment);
  assert.equal(code, 1, text);
  return text;
}
const secretIn = (link: string) => String(/^.*\/invite#(iam_inv_\w+_[\w-]+)$/.exec(link)?.[1]);
const read = (link: string) => api.invitations.read({ token: secretIn(link) });
const openOf = async (name: string): Promise<identity.Invitation[]> =>
  (await api.invitations.list(tenant, { status: 'open', limit: 500 })).items.filter(
    ({ displayName }) => displayName === name,
  );
const personOf = async (name: string) => {
  const { items } = await baton.admin.people.list({ q: name });
  return items.filter(({ displayName }) => displayName === name);
};

test('invite makes a link for a person who has the role as soon as they accept, and shows it once', async () => {
  const text = await done([
    ...['invite', 'Maria Lopez', '--role', 'Member', '--email', 'maria@example.com'],
    ...['--expires-in', '2h', '--message', 'Welcome'],
  ]);
  assert.match(text, /^Maria Lopez is invited as member, until \d{4}-/);
  assert.match(
    text,
    /^No e-mail can be sent to maria@example\.com: check CP_SMTP_HOST and the address\.\nSend them/m,
  );
  const link = String(/^http:.*$/m.exec(text)?.[0]);
  assert.match(link, /^http:\/\/localhost:\d+\/invite#/);
  const shown = await read(link);
  assert.deepEqual(
    [shown.displayName, shown.role, shown.message, shown.invitedBy],
    ['Maria Lopez', 'member', 'Welcome', 'Administrator'],
  );
  const [invitation] = await openOf('Maria Lopez');
  const lifeMs = Date.parse(invitation?.expiresAt ?? '') - Date.parse(invitation?.createdAt ?? '');
  assert.equal(lifeMs, 7_200_000);
  const [person, ...others] = await personOf('Maria Lopez');
  assert.deepEqual(
    [others.length, person?.accessRole, person?.email, person?.identities[0]?.iamPrincipalId],
    [0, 'member', 'maria@example.com', invitation?.principalId],
  );
  assert.match(
    await done(['people', 'list', '--q', 'maria']),
    /human +invited +member +Maria Lopez +invited, not accepted yet$/m,
  );
  const listed = await done(['invite', 'list']);
  assert.match(
    listed,
    /^[\da-f-]{36} +invitation +open +member .*Administrator +Maria Lopez +maria@example\.com$/m,
  );
  assert.doesNotMatch(listed, /iam_inv_/);
});

test('inviting twice invites nobody twice: by the e-mail address, or else by the name', async () => {
  await done(['invite', 'Ada', '--email', 'ada@example.com']);
  for (const args of [
    ['invite', 'Ada', '--email', 'ADA@example.com'],
    ['invite', 'Ada Lovelace', '--email', 'ada@example.com'],
    ['invite', 'ada'],
  ])
    assert.match(await refused(args), /^Ada is invited already, until .*Renew that invitation/);
  assert.equal((await openOf('Ada')).length, 1);
  assert.equal((await personOf('Ada')).length, 1);
  // This person has the same name but a different address.
  await done(['invite', 'Ada', '--email', 'ada@example.org']);
  assert.equal((await openOf('Ada')).length, 2);
});

test('the same command twice at the same time invites one person', async () => {
  const both = await Promise.all([run(['invite', 'Twice Sent']), run(['invite', 'Twice Sent'])]);
  assert.ok(
    both.some(({ code }) => code === 0),
    both.map(({ text }) => text).join('\n'),
  );
  assert.equal((await openOf('Twice Sent')).length, 1);
  assert.equal((await personOf('Twice Sent')).length, 1);
});

test('an interrupted invitation is completed by inviting the person again, with a new link', async () => {
  const { invitation, token } = await api.invitations.create(tenant, {
    displayName: 'Half Invited',
    role: 'member',
  });
  assert.match(
    await done(['people', 'list', '--state', 'invited']),
    /Half Invited +invited, not accepted yet; has no access here$/m,
  );
  assert.match(
    await done(['invite', 'list']),
    /^[\da-f-]{36} +invitation +open +no access yet .*Half Invited/m,
  );
  const { link, accessRole } = await json(['invite', 'Half Invited', '--role', 'viewer']);
  assert.equal(accessRole, 'viewer');
  assert.equal((await read(link)).displayName, 'Half Invited');
  await assert.rejects(api.invitations.read({ token }), { code: 'invalid_invitation' });
  const [open] = await openOf('Half Invited');
  assert.equal(open?.principalId, invitation.principalId);
  const [person] = await personOf('Half Invited');
  assert.deepEqual(
    [person?.accessRole, person?.identities[0]?.iamPrincipalId],
    ['viewer', invitation.principalId],
  );
});

test('renew replaces a lost link, and needs no second person', async () => {
  const first = await json(['invite', 'Lost Link']);
  const second = await json(['invite', 'renew', 'Lost Link', '--expires-in', '1d']);
  await assert.rejects(read(first.link), { code: 'invalid_invitation' });
  assert.equal((await read(second.link)).role, 'member');
  assert.equal(second.principalId, first.principalId);
  assert.equal((await personOf('Lost Link')).length, 1);
});

test('revoke ends the link and the access that waited; the person can be invited again', async () => {
  const { link, principalId } = await json(['invite', 'Revoked Person']);
  assert.match(
    await done(['invite', 'revoke', 'Revoked Person', '--reason', 'mistake']),
    /^The link of Revoked Person is revoked, and so is their pending access\.$/m,
  );
  await assert.rejects(read(link), { code: 'invalid_invitation' });
  assert.equal((await baton.admin.principals.get(principalId)).status, 'disabled');
  assert.match(
    await done(['people', 'show', principalId]),
    /^Revoked Person: human, disabled \(disabled\)$/m,
  );
  assert.match(await done(['invite', 'list', '--status', 'revoked']), /Revoked Person/);
  const again = await json(['invite', 'Revoked Person']);
  assert.notEqual(again.principalId, principalId);
  assert.match(await refused(['invite', 'revoke', 'Nobody']), /^There is no open invitation Nobody\.$/m);
});

test('nobody invites somebody to a role that allows more than they may do, and nothing is created', async () => {
  const lead = await baton.participant(['principals.read', 'principals.write', 'tasks.read'], 'human');
  const before = (await api.principals.list(tenant, { limit: 500 })).items.length;
  const { connection, home } = baton;
  assert.match(
    await refused(['invite', 'Too Much', '--role', 'operator'], {
      BATON_URL: connection.coordinationUrl,
      BATON_TOKEN: lead.token,
      BATON_HOME: home,
    }),
    /^Invitations need access to identity's administration, which this connection doesn't have \(BATON_URL and BATON_TOKEN\)\. Run this on the machine/,
  );
  const { invitePerson } = await import('@baton/sdk/people');
  const client = createClient({ url: baton.url, credential: { token: lead.token } });
  await assert.rejects(
    invitePerson(
      client,
      { identity: api, tenantId: tenant, issuer },
      { displayName: 'Too Much', accessRole: 'operator' },
      (step) => step,
    ),
    {
      reason: 'not_allowed',
      message: /^You can't invite somebody as Operator, because you don't have .*agents/,
    },
  );
  assert.equal((await api.principals.list(tenant, { limit: 500 })).items.length, before);
});

test('a rejection by coordination leaves no open link', async () => {
  const { invitePerson } = await import('@baton/sdk/people');
  const elsewhere = { identity: api, tenantId: tenant, issuer: 'https://elsewhere.example' };
  await assert.rejects(
    invitePerson(baton.admin, elsewhere, { displayName: 'Not Completed', accessRole: 'viewer' }, () =>
      crypto.randomUUID(),
    ),
    {
      reason: 'undone',
      message: /^Not Completed was not invited, and nothing of the invitation is left open: /,
    },
  );
  assert.deepEqual(await openOf('Not Completed'), []);
  const [person] = await personOf('Not Completed');
  assert.equal(person?.status, 'disabled');
});

test('people list has everybody of both services once, with the reason why somebody has no access', async () => {
  const agent = await api.principals.create(tenant, { kind: 'agent', displayName: 'Only At Identity' });
  const paused = await baton.participant(['tasks.read'], 'agent');
  const here = await baton.admin.principals.create({ kind: 'agent', displayName: 'Only Here' });
  const [binding] = (await baton.admin.people.get(paused.principalId)).identities;
  await api.principals.disable(tenant, binding?.iamPrincipalId ?? '');
  const { items } = await json(['people', 'list', '--limit', '2000']);
  const lines = (id: string) =>
    items
      .filter((one: { id: string; iamPrincipalId: string }) => one.id === id || one.iamPrincipalId === id)
      .map(({ state, reason }: { state: string; reason: string }) => `${state}: ${reason}`);
  assert.deepEqual(lines(agent.id), ['no_access: has an identity, but no access here yet']);
  assert.deepEqual(lines(here.id), ["no_access: can't sign in: no identity is bound"]);
  assert.deepEqual(lines(paused.principalId), ['disabled: disabled at identity']);
  assert.deepEqual(lines(binding?.iamPrincipalId ?? ''), ['disabled: disabled at identity']);
  // Disabled in coordination: the identity must not reappear as somebody without access.
  await baton.admin.principals.disable(paused.principalId, {});
  await api.principals.enable(tenant, binding?.iamPrincipalId ?? '');
  const again = (await json(['people', 'list', '--limit', '2000'])).items.filter(
    (one: { iamPrincipalId: string }) => one.iamPrincipalId === binding?.iamPrincipalId,
  );
  assert.deepEqual(
    again.map(({ id, reason }: { id: string; reason: string }) => [id, reason]),
    [[paused.principalId, 'disabled here; its identity is still active']],
  );
  assert.match(
    await done(['people', 'list', '--state', 'no_access', '--kind', 'agent', '--q', 'only']),
    /Only Here .*\n.*Only At Identity/,
  );
  assert.match(
    await done(['people', 'show', agent.id]),
    /^Principal: none here\nIdentity: [\da-f-]{36}\nNothing is allowed/m,
  );
  assert.match(await done(['people', 'show', 'Only Here']), /^Only Here: agent, no access \(can't sign in/);
  assert.match(
    await done(['people', 'show', 'me']),
    /^Administrator: human, active\n[^]*The access role administrator allows to:\n {2}- /,
  );
});

test('without the administration of identity, people list has those of coordination', async () => {
  const person = await baton.participant(['principals.read'], 'human');
  const environment = { BATON_URL: baton.connection.coordinationUrl, BATON_TOKEN: person.token };
  const { code, text } = await run(
    ['people', 'list', '--kind', 'human', '--q', 'Administrator'],
    environment,
  );
  assert.equal(code, 0, text);
  assert.match(text, /^[\da-f-]{36} +human +active +administrator .*Administrator/m);
});

test('a wrong value is rejected before anything is sent', async () => {
  for (const [args, message] of [
    [['invite', 'X', '--expires-in', '40d'], /It must be a time such as 7d, 12h or 30m, from 60s to 30d/],
    [['invite', 'X', '--expires-in', 'soon'], /It must be a time such as/],
    [['invite', 'list', '--status', 'new'], /^--status must be open, accepted, revoked, expired; got new\./],
    [
      ['people', 'list', '--state', 'gone'],
      /^--state must be active, invited, no_access, disabled; got gone\./,
    ],
    [['people', 'list', '--kind', 'bot'], /^--kind must be human, agent, service; got bot\./],
  ] as const) {
    const { code, text } = await run(args);
    assert.equal(code, 2, text);
    assert.match(text, message);
  }
  assert.match(await refused(['invite', 'X', '--role', 'king']), /^There is no access role king\.$/m);
  const { code, text } = await run(['invite']);
  assert.equal(code, 2, text);
});

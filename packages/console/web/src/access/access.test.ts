import assert from 'node:assert/strict';
import { afterEach, describe } from 'node:test';
import type { AccessRole, identity, Person } from '@baton/sdk';
import {
  type Answers,
  address,
  all,
  click,
  copied,
  describedBy,
  everything,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  meId,
  notSeen,
  open,
  pageOf,
  press,
  Refusal,
  see,
  settled,
  submit,
  test,
  unseen,
} from '../testing/page.ts';
import { graceId } from '../testing/tasks.ts';

const { lockAdministration } = await import('../administration/admin-secret.ts');
afterEach(lockAdministration);

const evil = '<img src=x onerror="window.ran=1">';
const tenantId = '0190b2c4-0000-7000-8000-00000000007e';
const atIdentity = '0190b2c4-0000-7000-8000-0000000000dd';

const person = (other: Partial<Person> = {}): Person =>
  itemOf('people.list', {
    id: graceId,
    kind: 'human',
    displayName: `Grace ${evil}`,
    status: 'active',
    email: 'grace@example.com',
    agent: null,
    accessRole: 'member',
    permissions: ['tasks.read'],
    identities: [
      {
        bindingId: graceId,
        issuer: 'https://iam.test',
        iamTenantId: tenantId,
        iamPrincipalId: atIdentity,
        status: 'active',
        lastUsedAt: null,
      },
    ],
    formerIamPrincipalIds: [],
    liveApiKeys: 0,
    lastUsedAt: null,
    ...other,
  });
const principal = (other: Partial<identity.Principal> = {}): identity.Principal =>
  itemOf('identity.principals.list', {
    id: atIdentity,
    kind: 'human',
    display_name: `Grace ${evil}`,
    status: 'active',
    ...other,
  });
const role = (key: string, permissions: string[], other: Partial<AccessRole> = {}): AccessRole =>
  itemOf('accessRoles.list', {
    key,
    name: key.charAt(0).toUpperCase() + key.slice(1),
    description: '',
    permissions,
    allows: permissions.map((name) => `use ${name}`),
    isBuiltIn: true,
    version: 1,
    ...other,
  });
const roles = [
  role('viewer', ['tasks.read']),
  role('member', ['tasks.read', 'tasks.write']),
  role('administrator', ['admin']),
];
const invitation = (other: Partial<identity.Invitation> = {}): identity.Invitation =>
  itemOf('identity.invitations.list', {
    id: '0190b2c4-0000-7000-8000-0000000000e1',
    principalId: atIdentity,
    kind: 'invitation',
    displayName: 'Maria Lopez',
    email: 'maria@example.com',
    role: 'member',
    invitedBy: 'Ada',
    status: 'open',
    expiresAt: '2100-01-01T00:00:00.000Z',
    ...other,
  });

const nobodyAtIdentity: Answers = {
  'identity.tenants.get': exampleOf('identity.tenants.get'),
  'identity.principals.list': { items: [], next_after: null },
  'identity.invitations.list': { items: [], next_after: null },
};
const usual: Answers = {
  ...nobodyAtIdentity,
  'people.list': pageOf(person()),
  'people.get': person(),
  'accessRoles.list': pageOf(...roles),
  'accessRoles.get': ({ ids }) => roles.find(({ key }) => key === ids[0]) ?? new Refusal(404, 'not_found'),
  'permissions.list': pageOf(
    { name: 'tasks.read', allows: 'see tasks', peopleOnly: false },
    { name: 'tasks.write', allows: 'change tasks', peopleOnly: false },
    { name: 'skills.execute', allows: 'execute skills', peopleOnly: false },
  ),
  'principals.getAccess': exampleOf('principals.getAccess', {
    accessRole: 'member',
    permissions: ['tasks.read'],
    allows: ['see tasks, who works on them'],
  }),
};

const openPeople = (path = '/people', answers: Answers = {}, me = {}) =>
  open(path, { answers: { ...usual, ...answers }, me });

async function unlock(): Promise<void> {
  const summary = all('summary').find(({ textContent }) =>
    /^(Also show|Manage passkeys)/.test(textContent ?? ''),
  );
  summary?.click();
  await enterSecret();
  await settled();
}

/** Enters the secret in the gate that was opened last. */
async function enterSecret(): Promise<void> {
  await find('summary', 'Use the admin secret');
  all('summary', 'Use the admin secret').at(-1)?.click();
  await fill('textbox', 'Admin secret', 's3cret');
  await submit('textbox', 'Admin secret');
}

describe('people and agents', () => {
  test('lists everybody with role and state; names from outside are text', async () => {
    const service = await openPeople();
    await see(`Grace ${evil}\nperson · member · grace@example.com\nactive`);
    assert.equal((await find('link', /^Grace/)).getAttribute('href'), `/people/${graceId}`);
    assert.equal(service.askedFor('identity.principals.list').length, 0);
  });

  test('somebody who may only read is offered neither invitations nor the admin secret', async () => {
    await openPeople('/people', {}, { permissions: ['principals.read'] });
    await see(`Grace ${evil}\nperson`);
    assert.ok(!isThere('button', 'Invite a person') && !isThere('summary', /^Also show/));
  });

  test('the filters are sent, and are part of the address', async () => {
    const service = await openPeople();
    await fill('combobox', 'Kind', 'agent');
    await fill('combobox', 'Role', 'viewer');
    await fill('textbox', 'Name or e-mail', 'gra');
    await submit('textbox', 'Name or e-mail');
    assert.equal(address(), '/people?kind=agent&role=viewer&q=gra');
    assert.deepEqual(service.askedFor('people.list').at(-1)?.query, {
      limit: '100',
      kind: 'agent',
      q: 'gra',
      accessRole: 'viewer',
    });
    service.answer({ 'people.list': pageOf() });
    await fill('combobox', 'State', 'disabled');
    await see('Nobody matches this filter.');
  });

  test('further pages load on demand', async () => {
    await openPeople('/people', {
      'people.list': ({ query }) =>
        query['cursor'] === undefined
          ? {
              items: Array.from({ length: 60 }, (_, n) =>
                person({ id: `p${n}`, displayName: `Person ${n}` }),
              ),
              nextCursor: 'more',
            }
          : pageOf(person({ id: 'last', displayName: 'The last one' })),
    });
    await see('Person 59');
    notSeen('The last one');
    await click('button', 'Show more');
    await see('The last one');
    assert.ok(!isThere('button', 'Show more'));
  });

  test('with the administration of identity, both records are joined, and who is only there is shown with the reason', async () => {
    const service = await openPeople('/people', {
      'people.list': ({ query }) =>
        query['iamPrincipalIds'] === undefined || query['iamPrincipalIds'].includes(atIdentity)
          ? pageOf(person())
          : pageOf(),
      'identity.principals.list': ({ query }) =>
        query['ids'] === undefined
          ? { items: [principal(), principal({ id: meId, display_name: 'Only There' })], next_after: null }
          : { items: [principal({ status: 'disabled' })], next_after: null },
    });
    await unlock();
    await see('disabled at identity');
    await see('Only There\nperson · no role\nhas an identity, but no access here yet');
    assert.equal(all('link', /^Grace/).length, 1);
    assert.equal(
      service.askedFor('people.list').every(({ headers }) => !headers.has('x-iam-bootstrap-token')),
      true,
    );
    // After the administration is locked again, what only the administrator may see disappears.
    lockAdministration();
    await unseen('Only There');
  });

  test('somebody who may only read sees neither the invitation nor a change', async () => {
    const me = { permissions: everything.filter((name) => name !== 'principals.write') };
    await openPeople('/people', {}, me);
    await see('you need the permission principals.write');
    assert.ok(!isThere('button', 'Invite a person'));
  });
});

describe('an invitation', () => {
  const invited: Answers = {
    'identity.invitations.create': exampleOf('identity.invitations.create', {
      invitation: invitation(),
      token: 'iam_inv_0123456789ab_secret',
    }),
    'people.list': pageOf(),
    'principals.list': pageOf(),
    'principals.create': exampleOf('principals.create', { id: graceId }),
    'principals.get': exampleOf('principals.get', { id: graceId }),
    'principals.update': exampleOf('principals.update', { id: graceId }),
    'principals.createIamBinding': exampleOf('principals.createIamBinding'),
    'notifications.sendInvitationMail': new Refusal(409, 'mail_not_enabled', 'No e-mail.'),
  };

  async function openDialog(answers: Answers = {}) {
    const service = await openPeople('/people?invite=true', { ...invited, ...answers });
    await find('dialog');
    await enterSecret();
    await find('textbox', 'Name');
    return service;
  }

  test('creates both records with the role, and shows the link once', async () => {
    const service = await openDialog();
    await fill('textbox', 'Name', 'Maria Lopez');
    await fill('combobox', 'Role', 'viewer');
    await submit('textbox', 'Name');
    const link = `${location.origin}/invite#iam_inv_0123456789ab_secret`;
    await see(link);
    await see('Send this link to Maria Lopez yourself: Baton sends no e-mail to this address.');
    const [made] = service.askedFor('identity.invitations.create');
    assert.deepEqual(
      { ...(made?.body as object) },
      { displayName: 'Maria Lopez', role: 'viewer', invitedBy: 'Ada', expiresInSeconds: 604_800 },
    );
    const [bound] = service.askedFor('principals.createIamBinding');
    assert.deepEqual(
      [bound?.ids, bound?.body],
      [
        [graceId],
        {
          issuer: 'https://iam.test',
          iamTenantId: tenantId,
          iamPrincipalId: atIdentity,
          accessRole: 'member',
        },
      ],
    );
    await click('button', 'Copy');
    assert.deepEqual(copied, [link]);
    lockAdministration();
    await press('Escape');
    await see(link);
    await click('button', 'Done');
    await unseen('iam_inv_');
    assert.equal(address(), '/people');
  });

  test('with an address, and where e-mail is set up, Baton sends the link', async () => {
    const service = await openDialog({
      'notifications.sendInvitationMail': exampleOf('notifications.sendInvitationMail'),
    });
    await fill('textbox', 'Name', 'Maria Lopez');
    await submit('textbox', 'Name');
    await see('Baton sends this link to maria@example.com. You can also pass it on yourself.');
    assert.deepEqual(service.askedFor('notifications.sendInvitationMail')[0]?.body, {
      principalId: graceId,
      token: 'iam_inv_0123456789ab_secret',
    });
  });

  test('roles that allow more than this person may do are not offered', async () => {
    await openDialog();
    const option = all('option', /^Administrator/)[0] as HTMLOptionElement;
    assert.equal(option.disabled, true);
    assert.match(option.textContent ?? '', /exceeds your permissions/);
  });

  test('if the second step is rejected, the link is revoked, and the page reports it', async () => {
    const service = await openDialog({
      'principals.createIamBinding': new Refusal(403, 'permission_escalation', 'Too much.'),
      'identity.invitations.revoke': () => undefined,
      'principals.disable': exampleOf('principals.disable'),
    });
    await fill('textbox', 'Name', 'Maria Lopez');
    await submit('textbox', 'Name');
    await see(/Maria Lopez was not invited, and nothing of the invitation is left open: Too much\./);
    notSeen('iam_inv_');
    assert.equal(service.askedFor('identity.invitations.revoke').length, 1);
    assert.deepEqual(service.askedFor('principals.disable')[0]?.ids, [graceId]);
  });

  test('a lost answer leaves an invitation that the next attempt completes, for the same person', async () => {
    const service = await openDialog({
      'principals.createIamBinding': new Refusal(500, 'internal_error', 'Down.'),
    });
    await fill('textbox', 'Name', 'Maria Lopez');
    await submit('textbox', 'Name');
    await see(/Maria Lopez is not invited completely: Down\. Nobody has the link\./);
    service.answer({
      'identity.invitations.list': { items: [invitation()], next_after: null },
      'principals.createIamBinding': exampleOf('principals.createIamBinding'),
    });
    await submit('textbox', 'Name');
    await see('/invite#');
    const made = service.askedFor('identity.invitations.create');
    assert.equal((made.at(-1)?.body as { principalId?: string }).principalId, atIdentity);
    const keys = service.askedFor('principals.create').map(({ headers }) => headers.get('idempotency-key'));
    assert.equal(new Set(keys).size, 1);
  });

  test('somebody with an open invitation is not invited twice', async () => {
    const service = await openDialog({
      'identity.invitations.list': { items: [invitation()], next_after: null },
      'people.list': pageOf(person()),
    });
    await fill('textbox', 'Name', 'maria lopez');
    await submit('textbox', 'Name');
    await see(/Maria Lopez is invited already, until /);
    assert.equal(service.askedFor('identity.invitations.create').length, 0);
  });

  test('open ones are listed, renewed and revoked; one that was interrupted is completed', async () => {
    const service = await openPeople('/people', {
      ...invited,
      'people.list': ({ query }) => (query['iamPrincipalIds'] === undefined ? pageOf(person()) : pageOf()),
      'identity.invitations.list': { items: [invitation()], next_after: null },
      'identity.invitations.revoke': () => undefined,
      'identity.principals.get': principal({ status: 'paused' }),
    });
    await unlock();
    await see(
      /Maria Lopez\nmember · maria@example\.com\nby Ada · expires .* not complete: has no access here yet/,
    );
    await click('button', 'Complete');
    await see('/invite#iam_inv_');
    assert.equal(service.askedFor('principals.createIamBinding').length, 1);
    // A lock takes away the list, but not a link that is shown once.
    lockAdministration();
    await unseen('Open invitations');
    await see('/invite#iam_inv_');
    await click('button', 'Done');
    await unseen('/invite#iam_inv_');
    await unlock();
    await click('button', 'Revoke …');
    await fill('textbox', 'Reason (optional)', 'mistake');
    await submit('textbox', 'Reason (optional)');
    const [revoked] = service.askedFor('identity.invitations.revoke');
    assert.equal(revoked?.query['reason'], 'mistake');
  });
});

describe('the page of a person', () => {
  const openPerson = (answers: Answers = {}, me = {}) => openPeople(`/people/${graceId}`, answers, me);

  test('shows role, what it allows, and the ids of both services', async () => {
    await openPerson();
    await find('heading', `Grace ${evil}`);
    await see(`With the role member, Grace ${evil} can:\nsee tasks, who works on them`);
    await see(`principal ${graceId} · identity ${atIdentity}`);
    assert.equal(
      (await find('link', 'Agents and sessions', document.querySelector('article') as Element)).getAttribute(
        'href',
      ),
      '/agents',
    );
  });

  test('the role is changed; what somebody may not give is explained', async () => {
    const service = await openPerson({
      'principals.setAccess': new Refusal(403, 'permission_escalation', 'Not that much.'),
    });
    await fill('combobox', 'Change the role to', 'viewer');
    await click('button', 'Change role');
    await see('You can only change access that is within your own');
    service.answer({ 'principals.setAccess': exampleOf('principals.setAccess') });
    await click('button', 'Change role');
    const asked = service.askedFor('principals.setAccess').at(-1);
    assert.deepEqual([asked?.ids, asked?.body], [[graceId], { accessRole: 'viewer' }]);
    const { version } = exampleOf('principals.getAccess');
    assert.equal(asked?.headers.get('if-match'), `"principal_access-${version}"`);
  });

  test('nothing is selected for somebody without a role, so that no click takes their access by mistake', async () => {
    const access = exampleOf('principals.getAccess', { accessRole: null, permissions: ['tasks.read'] });
    await openPerson({ 'principals.getAccess': access });
    await see('1 permission without an access role.');
    assert.equal((await find<HTMLSelectElement>('combobox', 'Change the role to')).value, '');
  });

  test('is disabled here with a reason, and at identity too where that is unlocked', async () => {
    const service = await openPerson({
      'principals.disable': exampleOf('principals.disable'),
      'identity.principals.disable': exampleOf('identity.principals.disable'),
      'identity.principals.list': { items: [principal()], next_after: null },
    });
    await see('The identity stays active');
    await unlock();
    await see('In identity, all tokens and browser sessions end.');
    await click('button', 'Disable …');
    await fill('textbox', 'Reason (optional)', 'left');
    await submit('textbox', 'Reason (optional)');
    assert.deepEqual(service.askedFor('principals.disable')[0]?.body, { reason: 'left' });
    const [there] = service.askedFor('identity.principals.disable');
    assert.deepEqual([there?.ids, there?.query['reason']], [[tenantId, atIdentity], 'left']);
  });

  test('a disabled one is enabled, and bound again with a role', async () => {
    const disabled = person({
      status: 'disabled',
      identities: [],
      formerIamPrincipalIds: [atIdentity],
      accessRole: null,
      permissions: [],
    });
    const bindings = { ...exampleOf('principals.getAccess'), bindings: [] };
    const service = await openPerson({
      'people.get': disabled,
      'principals.getAccess': bindings,
      'principals.enable': exampleOf('principals.enable'),
      'principals.listIamBindings': pageOf(
        itemOf('principals.listIamBindings', { issuer: 'https://iam.test', iamPrincipalId: atIdentity }),
      ),
      'principals.createIamBinding': exampleOf('principals.createIamBinding'),
    });
    await see('No access: no sign-in is linked.');
    await fill('combobox', 'Role', 'viewer');
    await click('button', 'Enable');
    assert.equal(service.askedFor('principals.enable').length, 1);
    const body = service.askedFor('principals.createIamBinding')[0]?.body as Record<string, unknown>;
    assert.deepEqual([body['iamPrincipalId'], body['accessRole']], [atIdentity, 'viewer']);
  });

  test('nobody disables themselves, and an agent of the registry has its access in its specification', async () => {
    await openPeople(`/people/${meId}`, { 'people.get': person({ id: meId, agent: 'desk' }) });
    await see('identity.permissions');
    assert.ok(!isThere('button', 'Change role') && !isThere('heading', 'Disable'));
  });

  test('somebody who is only at identity gets access', async () => {
    const service = await openPeople(`/people/${atIdentity}`, {
      'people.get': new Refusal(404, 'not_found', 'Nobody.'),
      'people.list': pageOf(),
      'identity.principals.get': principal({ kind: 'agent', display_name: 'Only There' }),
      'principals.create': exampleOf('principals.create', { id: graceId }),
      'principals.createIamBinding': exampleOf('principals.createIamBinding'),
    });
    await see('There is no such person here.');
    await unlock();
    await find('heading', 'Only There');
    service.answer({ 'people.get': person() });
    await fill('combobox', 'Role', 'viewer');
    await click('button', 'Give access');
    assert.deepEqual(service.askedFor('principals.create')[0]?.body, {
      kind: 'agent',
      displayName: 'Only There',
    });
    assert.equal(address(), `/people/${graceId}`);
  });

  test('a new agent is created in both services with a role', async () => {
    const service = await openPeople('/people', {
      'identity.principals.create': exampleOf('identity.principals.create', { id: atIdentity }),
      'principals.create': exampleOf('principals.create', { id: graceId }),
      'principals.createIamBinding': exampleOf('principals.createIamBinding'),
    });
    await unlock();
    (await find('summary', 'New agent or program')).click();
    await settled();
    await fill('textbox', 'Name', 'Desk');
    await submit('textbox', 'Name');
    const body = service.askedFor('principals.createIamBinding')[0]?.body as Record<string, unknown>;
    assert.deepEqual([body['iamPrincipalId'], body['accessRole']], [atIdentity, 'member']);
  });
});

describe('access roles', () => {
  const own = role('planner', ['tasks.read'], { name: 'Planner', isBuiltIn: false, version: 3 });
  const openRoles = (answers: Answers = {}, me = {}) =>
    openPeople('/people/roles', { 'accessRoles.list': pageOf(...roles, own), ...answers }, me);

  test('built-in ones are explained in words and can not be changed', async () => {
    await openRoles();
    await click('button', 'What it allows: Member');
    await see('use tasks.write');
    assert.equal(all('button', /^Edit /).length, 1);
    assert.equal((await find('link', 'who has it')).getAttribute('href'), '/people?role=viewer');
  });

  test('an own one is created; a permission that this person lacks can not be given', async () => {
    const service = await openRoles({ 'accessRoles.create': exampleOf('accessRoles.create') });
    (await find('summary', 'New role')).click();
    await settled();
    await fill('textbox', 'Name', 'Reader');
    await fill('textbox', /^Key/, 'reader');
    await click('checkbox', /^see tasks/);
    assert.equal((await find<HTMLInputElement>('checkbox', /^execute skills/)).disabled, true);
    await submit('textbox', 'Name');
    assert.deepEqual(service.askedFor('accessRoles.create')[0]?.body, {
      key: 'reader',
      name: 'Reader',
      permissions: ['tasks.read'],
    });
  });

  test('a copy opens the form for a new one, filled in with what this person may give', async () => {
    const wide = role('wide', ['tasks.read', 'skills.execute'], { name: 'Wide', description: 'Sees all' });
    const service = await openRoles({
      'accessRoles.list': pageOf(wide, own),
      'accessRoles.create': exampleOf('accessRoles.create'),
    });
    await click('button', 'Copy Wide');
    await see('A copy of Wide.');
    const name = await find<HTMLInputElement>('textbox', 'Name');
    assert.equal(document.activeElement, name);
    assert.deepEqual(
      [name.value, (await find<HTMLInputElement>('textbox', 'Key')).value],
      ['Copy of Wide', 'wide-copy'],
    );
    await click('button', 'Copy Planner');
    assert.equal((await find<HTMLInputElement>('textbox', 'Name')).value, 'Copy of Planner');
    await click('button', 'Copy Wide');
    await submit('textbox', 'Name');
    assert.deepEqual(service.askedFor('accessRoles.create')[0]?.body, {
      key: 'wide-copy',
      name: 'Copy of Wide',
      description: 'Sees all',
      permissions: ['tasks.read'],
    });
    await unseen('A copy of Wide.');
    assert.equal((await find('summary', 'New role')).closest('details')?.open, false);
  });

  test('the key that another role has is refused beside its field', async () => {
    const taken = 'Another role has this key.';
    await openRoles({ 'accessRoles.create': new Refusal(409, 'access_role_key_conflict', taken) });
    (await find('summary', 'New role')).click();
    await settled();
    await fill('textbox', 'Name', 'Reader');
    await fill('textbox', 'Key', 'viewer');
    await click('checkbox', /^see tasks/);
    await submit('textbox', 'Name');
    const key = await find('textbox', 'Key');
    assert.equal(document.activeElement, key);
    assert.equal(describedBy(key), `2 to 32 lower-case letters, digits and -; it never changes. ${taken}`);
    notSeen('access_role_key_conflict');
    await fill('textbox', 'Key', 'reader');
    notSeen(taken);
  });

  test('one without permissions is not sent, and the form shows what is missing', async () => {
    const service = await openRoles();
    (await find('summary', 'New role')).click();
    await settled();
    await fill('textbox', 'Name', 'Reader');
    await fill('textbox', /^Key/, 'reader');
    await submit('textbox', 'Name');
    await see('Choose at least one permission.');
    assert.equal(document.activeElement, await find('checkbox', /^see tasks/));
    assert.equal(service.askedFor('accessRoles.create').length, 0);
  });

  test('an own one is changed with its version, and deleted after a confirmation', async () => {
    const service = await openRoles({
      'accessRoles.update': exampleOf('accessRoles.update'),
      'accessRoles.delete': new Refusal(409, 'access_role_in_use', 'Somebody has it.'),
    });
    await click('button', 'Edit Planner');
    const name = all('textbox', 'Name').at(-1) as HTMLInputElement;
    assert.equal(name.value, 'Planner');
    await click('button', 'Save');
    const [asked] = service.askedFor('accessRoles.update');
    assert.equal(asked?.headers.get('if-match'), '"access_role-3"');
    assert.deepEqual((asked?.body as { permissions: string[] }).permissions, ['tasks.read']);
    await click('button', 'Delete …');
    await click('button', 'Delete');
    await see('Somebody has it.\naccess_role_in_use');
  });

  test('somebody who may only read sees no button', async () => {
    await openRoles({}, { permissions: ['principals.read'] });
    await see('you need the permission principals.write');
    assert.ok(!isThere('button', /^(Edit|Copy)/) && !isThere('summary', 'New role'));
  });
});

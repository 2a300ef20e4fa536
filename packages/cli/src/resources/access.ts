import type { AccessRole, BatonClient, Permission, Person, PrincipalAccess } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { findAccessRoleKey, findPrincipalId } from '../names.ts';
import { responseOf } from '../result-form.ts';
import { type ActSpec, type Called, defineColumns, type Item, type Resource } from './resource.ts';

/** People and agents with what they are allowed to do. */
export const accessResource: Resource = {
  noun: 'access',
  summary: 'what people, agents and services are allowed to do',
  list: {
    operation: 'listPeople',
    columns: [
      ...defineColumns<Person>(['ID', 'id'], ['KIND', 'kind'], ['STATUS', 'status']),
      ['ROLE', roleText],
      ...defineColumns<Person>(['LAST USED', 'lastUsedAt'], ['NAME', 'displayName']),
    ],
    filters: [
      ['--q <words>', 'with words of the name, or an e-mail address, that begin like this'],
      ['--kind <kind>', 'human, agent or service'],
      ['--access-role <role>', 'who has this access role', findAccessRoleKey],
    ],
    call: ({ baton }, query) => baton.people.list(query),
  },
  acts: [
    {
      usage: 'show <principal>',
      summary: 'show the access role of somebody, and what it allows',
      result: responseOf('getPrincipalAccess', 'displayName'),
      call: ({ baton, args: [name = ''] }) => accessOf(baton, name),
      says: (value) => accessLines(value as unknown as NamedAccess),
    },
    {
      usage: 'set <principal> <role>',
      summary: 'give somebody an access role in place of their current access',
      result: responseOf('setPrincipalAccess', 'displayName'),
      async call({ baton, args: [name = '', role = ''] }) {
        const id = await findPrincipalId(baton, name);
        const accessRole = await findAccessRoleKey(baton, role);
        const { version } = await baton.principals.getAccess(id);
        await baton.principals.setAccess(id, { accessRole }, { ifMatch: `"principal_access-${version}"` });
        return accessOf(baton, id);
      },
      says: (value) => accessLines(value as unknown as NamedAccess),
    },
    {
      usage: 'permissions',
      summary: 'list all permissions, and what each allows',
      result: responseOf('listPermissions'),
      call: async ({ baton }) => baton.permissions.list(),
      says: ({ items }) =>
        (items as Permission[]).map(({ name, allows }) => `${name.padEnd(26)}  ${allows}`).join('\n'),
    },
  ],
};

const permissionsOption = [
  '--permissions <names>',
  `permissions, separated by commas; see ${invocation()} access permissions`,
] as const;

const roleActs: readonly ActSpec[] = [
  {
    usage: 'show <role>',
    summary: 'show an access role, and what it allows',
    result: responseOf('getAccessRole'),
    call: async ({ baton, args: [role = ''] }) => baton.accessRoles.get(await findAccessRoleKey(baton, role)),
    says: (value) => roleLines(value as unknown as AccessRole),
  },
  {
    usage: 'create <key> <name>',
    summary: 'create an access role',
    result: responseOf('createAccessRole'),
    options: [permissionsOption, ['--description <text>', 'what it is for']],
    call: ({ baton, args: [key = '', name = ''], options }) =>
      baton.accessRoles.create({
        key,
        name,
        permissions: namesIn(options['permissions']) ?? [],
        ...textIn(options, 'description'),
      }),
    says: (value) => roleLines(value as unknown as AccessRole),
  },
  {
    usage: 'update <role>',
    summary: 'change an access role, and with it everybody who has it',
    result: responseOf('updateAccessRole'),
    options: [
      permissionsOption,
      ['--name <text>', 'its new name'],
      ['--description <text>', 'what it is for'],
    ],
    async call({ baton, args: [role = ''], options }) {
      const found = await baton.accessRoles.get(await findAccessRoleKey(baton, role));
      const permissions = namesIn(options['permissions']);
      const change = {
        ...textIn(options, 'name'),
        ...textIn(options, 'description'),
        ...(permissions !== undefined && { permissions }),
      };
      return baton.accessRoles.update(found.key, change, { ifMatch: `"access_role-${found.version}"` });
    },
    says: (value) => roleLines(value as unknown as AccessRole),
  },
  {
    usage: 'delete <role>',
    summary: 'delete an access role that nobody has',
    result: responseOf('getAccessRole'),
    async call({ baton, args: [role = ''] }) {
      const found = await baton.accessRoles.get(await findAccessRoleKey(baton, role));
      await baton.accessRoles.delete(found.key);
      return found;
    },
    says: ({ name }) => `${String(name)} is deleted.`,
  },
];

/** Below `access`: named lists of permissions. */
export const accessRoleResource: Resource = {
  noun: 'role',
  summary: 'access roles',
  list: {
    operation: 'listAccessRoles',
    columns: [
      ...defineColumns<AccessRole>(['KEY', 'key'], ['NAME', 'name']),
      ['KIND', ({ isBuiltIn }) => (isBuiltIn === true ? 'built in' : 'custom')],
      ...defineColumns<AccessRole>(['DESCRIPTION', 'description']),
    ],
    filters: [],
    call: ({ baton }) => baton.accessRoles.list(),
  },
  acts: roleActs,
};

type NamedAccess = PrincipalAccess & { readonly displayName: string };

async function accessOf(baton: BatonClient, name: string): Promise<NamedAccess> {
  const id = await findPrincipalId(baton, name);
  const { displayName } = await baton.principals.get(id);
  return { displayName, ...(await baton.principals.getAccess(id)) };
}

function accessLines({ displayName, accessRole, bindings, allows }: NamedAccess): string {
  if (bindings.length === 0)
    return `${displayName} can't sign in: no identity is bound, so there is no access to show.`;
  const has = accessRole === null ? 'permissions without an access role' : `the access role ${accessRole}`;
  return [`${displayName} has ${has}, which allows to:`, ...allows.map((text) => `  - ${text}`)].join('\n');
}

function roleLines({ key, name, description, allows }: AccessRole): string {
  return [
    `${name} (${key})${description === '' ? '' : `: ${description}`}`,
    'Allows to:',
    ...allows.map((text) => `  - ${text}`),
  ].join('\n');
}

function roleText({ accessRole, identities, permissions }: Item): unknown {
  if ((identities as readonly unknown[]).length === 0) return 'no access';
  return accessRole ?? `${(permissions as readonly unknown[]).length} permissions`;
}

function namesIn(value: Called['options'][string]): string[] | undefined {
  if (typeof value !== 'string') return undefined;
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function textIn<Name extends string>(options: Called['options'], name: Name): { [N in Name]?: string } {
  const value = options[name];
  return (typeof value === 'string' ? { [name]: value } : {}) as { [N in Name]?: string };
}

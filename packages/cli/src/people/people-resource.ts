import { type JoinedPerson, listJoinedPeople, type PeopleQuery, readJoinedPerson } from '@baton/sdk/people';
import { invocation } from '../../../../bin/invocation.mjs';
import { exitCodes } from '../error-text.ts';
import { findAccessRoleKey, findId } from '../names.ts';
import { PlainError } from '../plain-error.ts';
import { type Called, defineColumns, type Item, type Resource } from '../resources/resource.ts';
import { fieldsNamed } from '../result-form.ts';
import { findAdministration } from './administration.ts';

/**
 * `baton people`: everybody, with the records of both services joined under one name.
 */

const fields = [
  ...(['id', 'principalId', 'iamPrincipalId', 'kind', 'displayName', 'email', 'agent'] as const),
  ...(['accessRole', 'permissions', 'state', 'reason', 'lastUsedAt', 'createdAt'] as const),
];
const kinds = ['human', 'agent', 'service'];
const states = ['active', 'invited', 'no_access', 'disabled'];

export const peopleResource: Resource = {
  noun: 'people',
  summary: 'people, agents and services in both services, and whether they have access',
  list: {
    operation: fieldsNamed(...fields),
    columns: [
      ...defineColumns<JoinedPerson>(['ID', 'id'], ['KIND', 'kind']),
      ['STATE', ({ state }) => String(state).replaceAll('_', ' ')],
      ['ROLE', roleText],
      ...defineColumns<JoinedPerson>(['LAST USED', 'lastUsedAt'], ['NAME', 'displayName'], ['WHY', 'reason']),
    ],
    filters: [
      ['--q <words>', 'with words of the name, or an e-mail address, that begin like this'],
      ['--kind <kind>', 'human, agent or service'],
      ['--access-role <role>', 'who has this access role', findAccessRoleKey],
      ['--state <state>', 'active, invited, no_access or disabled'],
    ],
    call: (called, query) => everybody(called, query),
  },
  acts: [
    {
      usage: 'show <person>',
      summary: 'show a person, an agent or a service: access, what it allows, and identity',
      result: fieldsNamed(...fields, 'allows'),
      call: showPerson,
      says: personText,
    },
  ],
};

async function* everybody(
  called: Called,
  { q, kind, accessRole, state }: Readonly<Record<string, unknown>>,
): AsyncGenerator<JoinedPerson> {
  requireOneOf('--kind', kind, kinds);
  requireOneOf('--state', state, states);
  const filter: PeopleQuery = {
    ...(typeof q === 'string' && { q }),
    ...(kind !== undefined && { kind: kind as JoinedPerson['kind'] }),
    ...(typeof accessRole === 'string' && { accessRole }),
    ...(state !== undefined && { state: state as JoinedPerson['state'] }),
  };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listJoinedPeople(sourcesOf(called), {
      ...filter,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

const sourcesOf = ({ baton, access }: Called) => ({
  baton,
  administration: findAdministration(baton, access),
});

function requireOneOf(option: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(String(value))) return;
  throw new PlainError(`${option} must be ${allowed.join(', ')}; got ${String(value)}.`, {
    exitCode: exitCodes.usage,
  });
}

async function showPerson(called: Called) {
  const { baton, args } = called;
  const text = args[0] ?? '';
  const own = text === 'me' ? (await baton.harness.getContext()).principal.id : text;
  const id = await findId('principal', own, namesOfEverybody(called, own));
  const person = await readJoinedPerson(sourcesOf(called), id);
  const allows =
    person.principalId === null ? [] : (await baton.principals.getAccess(person.principalId)).allows;
  return { ...person, allows };
}

async function* namesOfEverybody(called: Called, q: string) {
  for await (const { id, kind, state, displayName, email } of everybody(called, { q }))
    yield { id, names: [displayName, email], about: `${kind}, ${state.replaceAll('_', ' ')}` };
}

function personText(item: Item): string {
  const { displayName, kind, state, reason, accessRole, allows, principalId, iamPrincipalId, email } =
    item as unknown as JoinedPerson & { readonly allows: readonly string[] };
  const why = reason === '' ? '' : ` (${reason})`;
  const role = accessRole === null ? 'Permissions without an access role' : `The access role ${accessRole}`;
  return [
    `${displayName}: ${kind}, ${state.replaceAll('_', ' ')}${why}`,
    ...(email === null ? [] : [`E-mail: ${email}`]),
    `Principal: ${principalId ?? 'none here'}`,
    `Identity: ${iamPrincipalId ?? 'none'}`,
    ...(allows.length === 0
      ? [`Nothing is allowed. ${invocation()} access permissions lists what a role can allow.`]
      : [`${role} allows to:`, ...allows.map((one) => `  - ${one}`)]),
  ].join('\n');
}

function roleText({ accessRole, permissions }: Item): unknown {
  const count = (permissions as readonly unknown[]).length;
  return accessRole ?? (count === 0 ? 'none' : `${count} ${count === 1 ? 'permission' : 'permissions'}`);
}

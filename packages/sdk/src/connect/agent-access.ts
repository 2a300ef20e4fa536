import type { BatonClient } from '../baton.ts';
import type { CallOptions } from '../call.ts';
import type { AccessRole } from '../generated/coordination-types.ts';
import { ConnectRefusal } from './connect-refusal.ts';

const keyCharactersMax = 63;
/** Holders of this permission may issue credentials. The key `me` is reserved, because `GET /agents/me` uses it. */
const administrator = 'admin';
const reservedKey = 'me';

/** @throws ConnectRefusal that names the missing permission */
export async function requireAdministrator(baton: BatonClient, call: CallOptions): Promise<void> {
  const { permissions } = await baton.harness.getContext({}, call);
  if (!mayConnect(permissions))
    throw new ConnectRefusal(
      'permission_missing',
      `To connect an agent, you need the permission ${administrator}: an administrator can connect it for you.`,
    );
}

/** Whether these permissions let somebody connect agents. */
export const mayConnect = (permissions: readonly string[]): boolean => permissions.includes(administrator);

/**
 * The permissions that an access role grants to an agent: all except those that only people have, as in bindings of the
 * role.
 * @throws ConnectRefusal for a role of administrators, and for one that grants an agent nothing
 */
export async function permissionsForAgent(
  baton: BatonClient,
  role: string,
  call: CallOptions,
): Promise<string[]> {
  const [{ key, permissions }, peopleOnly] = await Promise.all([
    baton.accessRoles.get(role, call),
    peopleOnlyPermissions(baton, call),
  ]);
  if (!suitsAgents({ permissions }, peopleOnly))
    throw new ConnectRefusal(
      'role_not_for_agents',
      `The access role ${key} is for people: choose another one.`,
    );
  return permissions.filter((name) => !peopleOnly.has(name)).sort();
}

/** The permissions that only people have: administration, and decisions. */
export async function peopleOnlyPermissions(
  baton: BatonClient,
  call: CallOptions,
): Promise<ReadonlySet<string>> {
  const { items } = await baton.permissions.list(call);
  return new Set(items.filter(({ peopleOnly }) => peopleOnly).map(({ name }) => name));
}

/** Whether an agent can have a role. */
export function suitsAgents(
  { permissions }: Pick<AccessRole, 'permissions'>,
  peopleOnly: ReadonlySet<string>,
): boolean {
  return !permissions.includes(administrator) && permissions.some((name) => !peopleOnly.has(name));
}

/**
 * The key for a name: `Codex of Maria` is `codex-of-maria`. @throws ConnectRefusal for a name without letters and
 * digits
 */
export function agentKeyOf(name: string): string {
  const key = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, keyCharactersMax + 1)
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, keyCharactersMax);
  if (key === '' || key === reservedKey)
    throw new ConnectRefusal(
      'name_without_key',
      `No key can be derived from the name ${JSON.stringify(name)}: use letters or digits.`,
    );
  return key;
}

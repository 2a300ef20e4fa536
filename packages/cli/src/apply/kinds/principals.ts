import type { IamBinding, Principal } from '@baton/sdk';
import { PlainError } from '../../plain-error.ts';
import {
  buildPatch,
  type Change,
  differences,
  type FieldChange,
  type Planning,
  unchanged,
} from '../change.ts';
import { type Declared, isObject } from '../documents.ts';
import { checkFields, checkForm, type Form } from '../form.ts';
import { principalKeyMember, withdrawnMember } from '../world.ts';
import type { JsonObject } from '../yaml-documents.ts';

const form: Form = {
  fields: {
    id: 'text',
    kind: ['human', 'agent', 'service'],
    displayName: 'text',
    status: ['active', 'disabled'],
    profile: 'object',
    metadata: 'object',
    roles: 'texts',
    capabilities: 'texts',
    access: 'object',
  },
  required: ['kind', 'displayName'],
};

const profileForm: Form = {
  fields: { jobTitle: 'text?', email: 'text?', phone: 'text?', note: 'text?' },
  required: [],
};

/** The principal's identity, and its access role or permissions: a binding (docs/reference/access.md#bindings). */
const accessForm: Form = {
  fields: {
    identity: 'text',
    issuer: 'text',
    identityTenant: 'text',
    permissions: 'texts',
    accessRole: 'text',
    visibility: ['tenant', 'members'],
  },
  required: ['identity'],
};

/** The fields in the file, by the call that writes them. */
interface Wanted {
  /** Members of the principal itself. */
  readonly own: JsonObject;
  readonly status: 'active' | 'disabled' | undefined;
  readonly roles: readonly string[];
  readonly capabilities: readonly string[];
  readonly access: Access | undefined;
}

interface Access {
  readonly issuer: string;
  readonly iamTenantId: string;
  readonly iamPrincipalId: string;
  /** Absent with `accessRole`, because the permissions are then those of the role. */
  readonly permissions?: readonly string[];
  readonly accessRole: string | null;
  readonly visibility?: 'tenant' | 'members';
}

/** Its current state. */
interface Held {
  readonly roles: readonly string[];
  readonly capabilities: readonly string[];
  readonly binding: IamBinding | undefined;
}

/**
 * A principal is identified by its key in the member `applyKey` of its metadata; `spec.id` adopts a principal without a
 * key.
 */
export async function planPrincipal(planning: Planning, document: Declared): Promise<Change> {
  const { world, problems } = planning;
  const { key, spec } = document;
  const before = problems.count;
  checkForm(document, form, problems);
  if (isObject(spec['profile']))
    checkFields(document, spec['profile'], '/spec/profile', profileForm, problems);
  if (isObject(spec['access'])) checkFields(document, spec['access'], '/spec/access', accessForm, problems);
  if (problems.count > before) return unchanged(document);
  await requireNames(planning, document, 'roles');
  await requireNames(planning, document, 'capabilities');
  const wanted = await wantedIn(planning, document);
  const found = (await world.principal(key)) ?? (await takenOver(planning, document));
  if (found === undefined) {
    await refuseNamesake(planning, document);
    return {
      document,
      action: 'create',
      fields: differences(spec, {}),
      carryOut: () => createPrincipal(planning, key, wanted),
    };
  }
  const held = await heldBy(planning, found.id, wanted);
  const fields = fieldsOf(wanted, found, held);
  if (fields.some(({ path }) => path === '/kind'))
    problems.add(
      document,
      '/spec/kind',
      `it is ${found.kind}, and a principal's kind can't change: use another key.`,
    );
  if (wanted.access === undefined && isObject(spec['access']) && problems.count === before)
    return unchanged(document);
  if (fields.length === 0) return unchanged(document);
  return {
    document,
    action: 'change',
    fields,
    carryOut: () => changePrincipal(planning, found, wanted, held),
  };
}

async function requireNames(
  { world, declared, problems }: Planning,
  document: Declared,
  field: 'roles' | 'capabilities',
): Promise<void> {
  const kind = field === 'roles' ? 'Role' : 'Capability';
  const names = (document.spec[field] ?? []) as readonly string[];
  for (const [n, name] of names.entries()) {
    if (declared.some((one) => one.kind === kind && one.key === name)) continue;
    const found = field === 'roles' ? await world.role(name) : await world.capability(name);
    if (found === undefined)
      problems.add(
        document,
        `/spec/${field}/${n}`,
        `no ${kind.toLowerCase()} ${name} exists in Baton or in the files.`,
      );
  }
}

async function wantedIn(planning: Planning, document: Declared): Promise<Wanted> {
  const { id: _id, status, roles, capabilities, access, metadata, ...own } = document.spec;
  return {
    own: {
      ...own,
      metadata: { ...(metadata as JsonObject | undefined), [principalKeyMember]: document.key },
    },
    status: status as Wanted['status'],
    roles: (roles ?? []) as string[],
    capabilities: (capabilities ?? []) as string[],
    access: isObject(access) ? await accessIn(planning, document, access) : undefined,
  };
}

/** The issuer and the tenant default to the caller's. */
async function accessIn(
  { access: own, baton, problems }: Planning,
  document: Declared,
  { identity, issuer, identityTenant, permissions, accessRole, visibility }: JsonObject,
): Promise<Access | undefined> {
  if ((permissions === undefined) === (accessRole === undefined)) {
    problems.add(document, '/spec/access', 'it takes exactly one of permissions and accessRole.');
    return undefined;
  }
  const role = accessRole === undefined ? null : await roleIn(baton, accessRole as string);
  if (role === undefined) {
    problems.add(document, '/spec/access/accessRole', `there is no access role ${String(accessRole)}.`);
    return undefined;
  }
  const known =
    own.issuer !== undefined && own.tenantId !== undefined
      ? { issuer: own.issuer, iamTenantId: own.tenantId }
      : issuer === undefined || identityTenant === undefined
        ? await ownIdentity(baton)
        : undefined;
  const place = {
    issuer: (issuer as string | undefined) ?? known?.issuer,
    iamTenantId: (identityTenant as string | undefined) ?? known?.iamTenantId,
  };
  if (place.issuer === undefined || place.iamTenantId === undefined) {
    problems.add(document, '/spec/access', 'it lacks issuer and identityTenant, which have no default here.');
    return undefined;
  }
  return {
    issuer: place.issuer,
    iamTenantId: place.iamTenantId,
    iamPrincipalId: identity as string,
    ...(role === null && { permissions: [...new Set(permissions as string[])].sort() }),
    accessRole: role,
    ...(visibility !== undefined && { visibility: visibility as 'tenant' | 'members' }),
  };
}

/** The key of an access role; undefined if there is none with this key. */
async function roleIn(baton: Planning['baton'], key: string): Promise<string | undefined> {
  for await (const role of baton.accessRoles.list()) if (role.key === key) return key;
  return undefined;
}

async function ownIdentity(
  baton: Planning['baton'],
): Promise<Pick<IamBinding, 'issuer' | 'iamTenantId'> | undefined> {
  const { principal } = await baton.harness.getContext({});
  const { items } = await baton.principals.listIamBindings(principal.id);
  return items.find(({ status }) => status === 'active');
}

/** The principal in `spec.id`, which must not belong to another key. */
async function takenOver({ world, problems }: Planning, document: Declared): Promise<Principal | undefined> {
  const { id } = document.spec;
  if (id === undefined) return undefined;
  const found = (await world.principals()).find((one) => one.id === id);
  const other = found?.metadata[principalKeyMember];
  if (found === undefined) problems.add(document, '/spec/id', 'there is no principal with this id.');
  else if (other !== undefined && other !== document.key)
    problems.add(document, '/spec/id', `it has the key ${JSON.stringify(other)} already.`);
  return found;
}

/** Refuses to create a principal again that was created by hand. */
async function refuseNamesake({ world, problems }: Planning, document: Declared): Promise<void> {
  const { kind, displayName } = document.spec;
  const namesake = (await world.principals()).find(
    (one) =>
      one.kind === kind &&
      one.displayName === displayName &&
      one.metadata[principalKeyMember] === undefined &&
      one.metadata[withdrawnMember] === undefined,
  );
  if (namesake !== undefined)
    problems.add(
      document,
      '/spec/displayName',
      `there already is one without a key: adopt it by setting id: ${namesake.id}, or use another name.`,
    );
}

async function heldBy(
  { baton }: Planning,
  id: string,
  { roles, capabilities, access }: Wanted,
): Promise<Held> {
  const rolesHeld = roles.length === 0 ? [] : (await baton.principals.listRoles(id)).items;
  const capabilitiesHeld =
    capabilities.length === 0 ? [] : (await baton.principals.listCapabilities(id)).items;
  const bindings = access === undefined ? [] : (await baton.principals.listIamBindings(id)).items;
  return {
    roles: rolesHeld.filter(({ workspaceId }) => workspaceId === null).map(({ role }) => role.slug),
    capabilities: capabilitiesHeld.map(({ capability }) => capability.name),
    binding: bindings.find(
      (one) => one.issuer === access?.issuer && one.iamPrincipalId === access.iamPrincipalId,
    ),
  };
}

function fieldsOf(wanted: Wanted, found: Principal, held: Held): FieldChange[] {
  const { status, access } = wanted;
  const fields = differences(wanted.own, found);
  if (status !== undefined && found.status !== status)
    fields.push({ path: '/status', before: found.status, after: status });
  for (const name of ['roles', 'capabilities'] as const) {
    const missing = missingIn(wanted[name], held[name]);
    if (missing.length > 0)
      fields.push({ path: `/${name}`, before: held[name], after: [...held[name], ...missing] });
  }
  if (access !== undefined)
    fields.push(...differences({ ...access, status: 'active' }, bindingOf(held), '/access'));
  return fields;
}

const missingIn = (wanted: readonly string[], held: readonly string[]) =>
  [...new Set(wanted)].filter((one) => !held.includes(one));

function bindingOf({ binding }: Held): JsonObject {
  return binding === undefined ? {} : { ...binding, permissions: [...binding.permissions].sort() };
}

async function createPrincipal(planning: Planning, key: string, wanted: Wanted): Promise<void> {
  const { profile: _profile, ...own } = wanted.own;
  const body = own as { kind: string; displayName: string };
  const { baton, attempt, world } = planning;
  if ((await world.principalsMadeSince(key)).length > 0)
    throw new PlainError(`Principal ${key} was created after the plan: apply again, and check the plan.`);
  const { id } = await baton.principals.create(body, { idempotencyKey: attempt.keyOf('Principal', body) });
  let made = await baton.principals.get(id);
  // If an interrupted run of this attempt created the principal, the principal may have lost its key since.
  if (made.metadata[principalKeyMember] !== key) made = await baton.principals.create(body);
  await withdrawBesideRival(planning, key, made);
  const nothing: Held = { roles: [], capabilities: [], binding: undefined };
  await changePrincipal(planning, made, wanted, nothing);
}

/**
 * The service allows two principals with the same key. Each apply creates its own and then reads the others, so of two
 * concurrent ones at least one detects the other and withdraws. Its principal has no roles and no access yet.
 * @throws PlainError if the principal was withdrawn
 */
async function withdrawBesideRival({ baton, world }: Planning, key: string, made: Principal): Promise<void> {
  const rivals = (await world.principalsMadeSince(key)).filter(({ id }) => id !== made.id);
  if (rivals.length === 0) return;
  const { [principalKeyMember]: _key, ...others } = made.metadata;
  const metadata = { ...others, [withdrawnMember]: key };
  // Only if the principal is unchanged: another run of this attempt may have seen no rival and continued with it.
  await baton.principals.update(made.id, { metadata }, { ifMatch: '"principal-1"' });
  // A principal of kind `service` can't be disabled.
  if (made.kind !== 'service') await baton.principals.disable(made.id, {});
  throw new PlainError(
    `Somebody else created Principal ${key} at the same moment. The one that this apply created was withdrawn (${made.id}): apply again, and check the plan.`,
  );
}

/** The writes are independent: if apply is killed between two of them, the next apply writes the rest. */
async function changePrincipal(
  planning: Planning,
  found: Principal,
  wanted: Wanted,
  held: Held,
): Promise<void> {
  const { principals } = planning.baton;
  const { kind: _kind, ...patch } = buildPatch(wanted.own, found);
  if (Object.keys(patch).length > 0)
    await principals.update(found.id, patch, { ifMatch: `"principal-${found.version}"` });
  if (wanted.status === 'active' && found.status !== 'active') await principals.enable(found.id, {});
  for (const slug of missingIn(wanted.roles, held.roles)) {
    const role = await planning.world.role(slug);
    if (role === undefined) throw new PlainError(`The role ${slug} no longer exists. Apply again.`);
    await principals.assignRole(found.id, { roleId: role.id });
  }
  for (const name of missingIn(wanted.capabilities, held.capabilities)) {
    const capability = await planning.world.capability(name);
    if (capability === undefined)
      throw new PlainError(`The capability ${name} no longer exists. Apply again.`);
    await principals.assignCapability(found.id, { capabilityId: capability.id });
  }
  await bind(planning, found.id, wanted, held);
  if (wanted.status === 'disabled' && found.status !== 'disabled') await principals.disable(found.id, {});
}

async function bind(planning: Planning, id: string, { access }: Wanted, held: Held): Promise<void> {
  if (access === undefined) return;
  if (differences({ ...access, status: 'active' }, bindingOf(held)).length === 0) return;
  const { items } = await planning.baton.principals.listIamBindings(id);
  const now = items.find(
    (one) => one.issuer === access.issuer && one.iamPrincipalId === access.iamPrincipalId,
  );
  // A binding has no version to match, so a concurrent change during this request goes unnoticed.
  if (now?.updatedAt !== held.binding?.updatedAt || now?.status !== held.binding?.status)
    throw new PlainError('Somebody has changed its access since the plan: apply again, and check the plan.');
  const { accessRole, permissions = [], ...identity } = access;
  const granted = accessRole === null ? { permissions: [...permissions] } : { accessRole };
  await planning.baton.principals.createIamBinding(id, { ...identity, ...granted });
}

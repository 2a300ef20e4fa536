import type { PackageLink } from '@baton/sdk';
import {
  buildPatch,
  type Change,
  differences,
  type FieldChange,
  type Planning,
  unchanged,
} from '../change.ts';
import type { Declared } from '../documents.ts';
import { checkForm, type Form } from '../form.ts';
import type { JsonObject } from '../yaml-documents.ts';

interface Stored {
  readonly id: string;
  readonly version: number;
  readonly package: PackageLink | null;
}

/** Objects that have a name and are changed by PATCH. */
interface NamedKind {
  readonly form: Form;
  readonly tag: string;
  find(planning: Planning, key: string): Promise<Stored | undefined>;
  create(planning: Planning, key: string, spec: JsonObject): Promise<unknown>;
  update(planning: Planning, id: string, patch: JsonObject, ifMatch: string): Promise<unknown>;
}

const namedKinds = {
  Role: {
    form: { fields: { name: 'text', description: 'text' }, required: ['name'] },
    tag: 'role',
    find: ({ world }, key) => world.role(key),
    create: ({ baton }, slug, spec) => baton.roles.create({ ...(spec as { name: string }), slug }),
    update: ({ baton }, id, patch, ifMatch) => baton.roles.update(id, patch, { ifMatch }),
  },
  Capability: {
    form: { fields: { description: 'text' }, required: [] },
    tag: 'capability',
    find: ({ world }, key) => world.capability(key),
    create: ({ baton }, name, spec) => baton.capabilities.create({ ...spec, name }),
    update: ({ baton }, id, patch, ifMatch) => baton.capabilities.update(id, patch, { ifMatch }),
  },
  WorkspaceType: {
    form: {
      fields: { displayName: 'text', description: 'text', fieldSchema: 'object', allowedChildTypes: 'texts' },
      required: ['displayName'],
    },
    tag: 'workspace_type',
    find: ({ world }, key) => world.workspaceType(key),
    create: ({ baton }, key, spec) =>
      baton.workspaceTypes.create({ ...(spec as { displayName: string }), key }),
    update: ({ baton }, id, patch, ifMatch) => baton.workspaceTypes.update(id, patch, { ifMatch }),
  },
} as const satisfies Record<string, NamedKind>;

/** Roles, capabilities and workspace types. */
export async function planNamed(planning: Planning, document: Declared): Promise<Change> {
  const kind: NamedKind = namedKinds[document.kind as keyof typeof namedKinds];
  const { key, spec } = document;
  checkForm(document, kind.form, planning.problems);
  const found = await kind.find(planning, key);
  if (found === undefined)
    return {
      document,
      action: 'create',
      fields: created(spec),
      async carryOut() {
        await kind.create(planning, key, spec);
      },
    };
  refusePackaged(planning, document, found);
  const fields = differences(spec, found as unknown as JsonObject);
  if (fields.length === 0) return unchanged(document);
  return {
    document,
    action: 'change',
    fields,
    async carryOut() {
      const patch = buildPatch(spec, found as unknown as JsonObject);
      await kind.update(planning, found.id, patch, `"${kind.tag}-${found.version}"`);
    },
  };
}

/**
 * An object installed by a package can only be changed by that package; the same applies to calendars, task types,
 * agents, processes and rules.
 */
export function refusePackaged(
  { problems }: Planning,
  document: Declared,
  { package: from }: { readonly package: PackageLink | null },
): void {
  if (from !== null)
    problems.add(document, '/key', `it is an object of the package ${from.key}: change that.`);
}

/** Every field of a new object. */
export const created = (spec: JsonObject): FieldChange[] => differences(spec, {});

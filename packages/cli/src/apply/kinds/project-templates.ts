import { isDeepStrictEqual } from 'node:util';
import type { ProjectTemplate } from '@baton/sdk';
import { PlainError } from '../../plain-error.ts';
import {
  type Change,
  type FieldChange,
  holds,
  type Planning,
  refuseSkippedVersion,
  unchanged,
} from '../change.ts';
import type { Declared } from '../documents.ts';
import { checkForm, type Form } from '../form.ts';
import type { JsonObject } from '../yaml-documents.ts';
import { created, refusePackaged } from './named.ts';

const form: Form = {
  fields: {
    displayName: 'text',
    description: 'text',
    fieldSchema: 'object',
    lifecycleSchema: 'object',
    defaultConfig: 'object',
    defaultViews: 'list',
    governanceSchema: 'object',
    memoryDefaults: 'object',
  },
  required: ['displayName'],
};

/** The defaults of omitted fields; the service computes the others. */
const defaults: JsonObject = { description: '', fieldSchema: {}, defaultViews: [], memoryDefaults: {} };
/** Fields that the service completes: they contain the file's members, and possibly more. */
const completed = new Set(['lifecycleSchema', 'defaultConfig', 'governanceSchema']);

/** A template never changes: a changed document is its next version. */
export async function planProjectTemplate(planning: Planning, document: Declared): Promise<Change> {
  const { baton, attempt, problems } = planning;
  const { key, spec } = document;
  checkForm(document, form, problems);
  const found = await newest(planning, key);
  const write = async () => {
    const now = await newest(planning, key);
    if (stampOf(now) !== stampOf(found))
      throw new PlainError(
        `Somebody has changed ProjectTemplate ${key} since the plan: apply again, and check the plan.`,
      );
    const body = { ...(spec as { displayName: string }), key };
    const idempotencyKey = attempt.keyOf('ProjectTemplate', stampOf(found), body);
    const { version } = await baton.projectTemplates.create(body, { idempotencyKey });
    refuseSkippedVersion(document, found?.version ?? 0, version);
  };
  if (found?.status !== 'active')
    return { document, action: 'create', fields: created(spec), carryOut: write };
  refusePackaged(planning, document, found);
  const fields = changedFields({ ...defaults, ...spec }, found);
  return fields.length === 0 ? unchanged(document) : { document, action: 'change', fields, carryOut: write };
}

const stampOf = (found: ProjectTemplate | undefined) =>
  found === undefined ? 'none' : `${found.version} ${found.status}`;

async function newest({ baton }: Planning, key: string): Promise<ProjectTemplate | undefined> {
  const { items } = await baton.projectTemplates.list({ key, limit: 1 });
  return items[0];
}

function changedFields(wanted: JsonObject, current: JsonObject): FieldChange[] {
  return Object.entries(wanted)
    .filter(([name, after]) =>
      completed.has(name) ? !holds(current[name], after) : !isDeepStrictEqual(current[name], after),
    )
    .map(([name, after]) => ({ path: `/${name}`, before: current[name], after }));
}

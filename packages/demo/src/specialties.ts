import type { BatonClient, NewTask, NewTaskType } from '@baton/sdk';
import { demoRole } from './demo-role.ts';

/**
 * Additional requirements of some of the demo's tasks: features have a type with its own statuses and a budget, bugs
 * require an agent that can debug, and every 40th open task requires a person's approval.
 */

export const typeKey = 'demo-feature';
/** The slug of the role that bugs require in addition to the role of every task. */
export const debuggerRole = 'demo-debugger';
/** The maximum number of actions in a run of a feature. */
export const actionsMax = 3;

/** The statuses of a feature: queued, building, then shipped or dropped. */
export const lifecycle = {
  queued: ['building', 'dropped'],
  building: ['queued', 'shipped', 'dropped'],
  shipped: [],
  dropped: [],
} as const satisfies Record<string, readonly string[]>;

const gateEvery = 40;
/** Every fourth agent can't debug. */
const agentsPerNovice = 4;

export function isFeature(issueType: string): boolean {
  return issueType === 'feature';
}

/** The part of the body of POST /tasks that depends on an issue's kind. */
export function chooseSpecialty({
  issue_type: type,
}: {
  readonly issue_type: string;
}): Pick<NewTask, 'typeKey' | 'requirements'> {
  const requirements = { roles: type === 'bug' ? [demoRole, debuggerRole] : [demoRole] };
  return { requirements, ...(isFeature(type) && { typeKey }) };
}

export function needsApproval(openIndex: number): boolean {
  return openIndex % gateEvery === gateEvery / 2;
}

export function canDebug(agentIndex: number): boolean {
  return agentIndex % agentsPerNovice !== agentsPerNovice - 1;
}

/** The objects that one demo creates for these tasks. */
export interface Specialties {
  /**
   * The version of the feature type. Tasks refer to it by id, because another demo may deprecate this version in the
   * meantime.
   */
  readonly featureTypeId: string;
  readonly debuggerRoleId: string;
}

/** Creates the role, and the type unless an earlier demo has created it. */
export async function prepareSpecialties(
  administrator: BatonClient,
  workspaceId: string,
): Promise<Specialties> {
  const { items } = await administrator.taskTypes.list({ key: typeKey, limit: 1 });
  const { id: featureTypeId } = items[0] ?? (await administrator.taskTypes.create(featureType));
  const role = { slug: debuggerRole, name: 'Debugger of the demo', workspaceId };
  return { featureTypeId, debuggerRoleId: (await administrator.roles.create(role)).id };
}

/** Deprecates the type of features, the only object that a demo publishes for the whole tenant. */
export async function deprecateFeatureType(administrator: BatonClient): Promise<void> {
  const { items } = await administrator.taskTypes.list({ key: typeKey, status: 'active', limit: 200 });
  for (const { id } of items) await administrator.taskTypes.deprecate(id);
}

const featureType: NewTaskType = {
  key: typeKey,
  displayName: 'Demo feature',
  fieldSchema: {
    type: 'object',
    properties: { issueId: { type: 'string' }, issueType: { const: 'feature' } },
    required: ['issueId', 'issueType'],
    additionalProperties: false,
  },
  lifecycleSchema: {
    statuses: [
      { key: 'queued', category: 'active' },
      { key: 'building', category: 'active' },
      { key: 'shipped', category: 'terminal_success' },
      { key: 'dropped', category: 'terminal_cancelled' },
    ],
    initialStatus: 'queued',
    transitions: Object.entries(lifecycle).map(([from, to]) => ({ from, to: [...to] })),
    claimStatus: 'building',
    releaseStatus: 'queued',
    completionStatus: 'shipped',
  },
};

import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { PackageLink, PackageName } from '../../organisation/package-link.ts';
import type { Tables } from '../../service/schema.ts';
import { AgentKey } from '../agent-keys.ts';
import { AgentStatus } from '../agent-status/agent-status.ts';
import { SettingsForAgent } from '../package-settings/package-settings.ts';
import { AgentSpec, agentStates, replicasMax } from './agent-spec.ts';

export const agentStatuses = ['active', 'retired'] as const;

/** An immutable revision of an agent. */
export const AgentRevision = z
  .strictObject({
    id: Uuid,
    agentId: Uuid,
    agentKey: z.string(),
    revision: z.int().positive(),
    spec: AgentSpec,
    specHash: z
      .string()
      .describe('Hash of the spec in canonical form, without `state` and `placement.replicas`.'),
    createdBy: Uuid,
    createdAt: Timestamp,
  })
  .meta({ id: 'AgentRevision' });
export type AgentRevision = z.infer<typeof AgentRevision>;

/** The origin of a revision. */
export const RevisionSource = z
  .strictObject({ kind: z.enum(['package', 'manual', 'unknown']), package: PackageName.optional() })
  .meta({ id: 'AgentRevisionSource' });
export type RevisionSource = z.infer<typeof RevisionSource>;

/** A revision in the list of an agent's revisions. */
export const ListedRevision = AgentRevision.extend({
  source: RevisionSource.describe('Origin of the revision; unknown for the oldest ones.'),
  active: z.boolean().describe('Whether it is the current one.'),
  changedFields: z
    .array(z.string())
    .nullable()
    .describe(
      'Fields that differ from the previous revision, such as `identity.permissions`; `null` for the first.',
    ),
}).meta({ id: 'ListedAgentRevision' });
export type ListedRevision = z.infer<typeof ListedRevision>;

const AgentRecord = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  key: z.string(),
  displayName: z.string(),
  status: z.enum(agentStatuses),
  state: z.enum(agentStates),
  replicas: z.int(),
  currentRevision: z.int().positive(),
  principalId: Uuid.nullable().describe('The principal of the agent, set when an identity is linked.'),
  workspaceId: Uuid.nullable(),
  retiredAt: Timestamp.nullable(),
  retiredBy: Uuid.nullable(),
  version: z.int().positive(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  package: PackageLink.nullable(),
});

/** An agent of the registry, with the requested revision or its current one. See docs/reference/agents.md#spec. */
export const Agent = AgentRecord.extend({ revision: AgentRevision }).meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

/** `observedStatus` is present with `include=status`. */
export const ListedAgent = AgentRecord.extend({ observedStatus: AgentStatus.optional() }).meta({
  id: 'ListedAgent',
});
export type ListedAgent = z.infer<typeof ListedAgent>;

/** An agent as it sees itself. */
export const OwnAgent = Agent.extend({
  packageSettings: SettingsForAgent.nullable().describe('Settings of the package that installed the agent.'),
}).meta({ id: 'OwnAgent' });
export type OwnAgent = z.infer<typeof OwnAgent>;

export const AgentRequest = z
  .strictObject({
    key: AgentKey,
    spec: AgentSpec,
    package: PackageName.optional().describe(
      'The package that the spec comes from, recorded in the revision. `/packages:record` links the agent to it.',
    ),
  })
  .meta({ id: 'AgentRequest' });
export type AgentRequest = z.output<typeof AgentRequest>;

/** The effect that publishing would have. */
export const AgentValidation = z
  .strictObject({
    key: z.string(),
    specHash: z.string(),
    currentRevision: z.int().nullable(),
    wouldCreateRevision: z.boolean(),
    wouldChangeState: z.boolean(),
  })
  .meta({ id: 'AgentValidation' });
export type AgentValidation = z.infer<typeof AgentValidation>;

export const AgentStateChange = z
  .strictObject({
    state: z.enum(agentStates).nullish(),
    replicas: z.int().min(0).max(replicasMax).nullish(),
  })
  .meta({ id: 'AgentStateChange' });
export type AgentStateChange = z.output<typeof AgentStateChange>;

export const AgentRetirement = z
  .strictObject({ reason: z.string().min(1).max(500) })
  .meta({ id: 'AgentRetirement' });

export type AgentRow = RowOf<
  Tables['agents'],
  {
    kind: 'agent' | 'service';
    status: Agent['status'];
    state: Agent['state'];
    package: PackageLink | null;
  }
>;

/** The objects that a spec refers to, by id. */
export interface AgentGrants {
  readonly roleIds: readonly string[];
  readonly capabilityIds: readonly string[];
  readonly skillIds: readonly string[];
}

export type RevisionRow = RowOf<
  Tables['agent_revisions'],
  { spec: AgentSpec; grants: AgentGrants; source: RevisionSource | null }
> & { agent_key: string };

const revisionOf = wireMapper<RevisionRow>()(AgentRevision, {});

/** @param current the number of the agent's current revision */
export function listedRevisionOf(row: RevisionRow, current: number): ListedRevision {
  const { revision, changed_fields: changedFields, source } = row;
  return {
    ...revisionOf(row),
    source: source ?? { kind: 'unknown' },
    active: revision === current,
    changedFields,
  };
}

const recordOf = wireMapper<AgentRow>()(AgentRecord, {});

export function agentOf(row: AgentRow, revision: RevisionRow): Agent {
  return { ...recordOf(row), revision: revisionOf(revision) };
}

/** @param status the reported status; undefined if it was not requested */
export function listedAgentOf(row: AgentRow, status: AgentStatus | undefined): ListedAgent {
  return { ...recordOf(row), ...(status !== undefined && { observedStatus: status }) };
}

import { fragment } from '@baton/kernel/database/list';
import { priorities } from '../../work/tasks/task.ts';
import { columnTypes, type FieldType } from './field-values.ts';

/**
 * The fields that views show of each source: fields of the records in the source's own list, as expressions over a row
 * `t`. Documents, and strings of more than 500 characters, are excluded, so that 200 rows with 30 columns stay below 4
 * MiB.
 */

type Fragment = ReturnType<typeof fragment>;

/** An index lookup of rows by the values of a field. */
export interface FieldIndex {
  /** The indexed expression, if it is not the field itself. */
  readonly expression: string;
  /** Whether the index returns the rows for a single value in the source's own order. */
  readonly inOrder: boolean;
  /** For a field of a related row: the lookup, in which `v` holds the requested values. */
  readonly valuesOf?: (tenantId: string, values: readonly unknown[]) => Fragment;
}

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly expression: string;
  /** The type of the expression, for comparisons. */
  readonly storedAs: string;
  /** The values of a field that is stored as a position in this list. */
  readonly words?: readonly string[];
  readonly index?: FieldIndex;
}

type FieldMore = { column?: string; expression?: string } & Partial<Pick<Field, 'words' | 'index'>>;
type Fields = Readonly<Record<string, Field>>;

/** `createdAt` is `t.created_at`. */
const columnOf = (name: string) => `t.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;

function field(type: FieldType, name: string, { column, expression, words, index }: FieldMore = {}): Field {
  const shown = expression ?? (column === undefined ? columnOf(name) : `t.${column}`);
  const storedAs = words === undefined ? columnTypes[type] : 'smallint';
  return {
    name,
    type,
    expression: shown,
    storedAs,
    ...(words !== undefined && { words }),
    ...(index !== undefined && { index }),
  };
}

const of = (type: FieldType) => (names: string) => names.split(' ').map((name) => field(type, name));
const [texts, numbers, times, ids] = [of('text'), of('number'), of('time'), of('id')];

/** Fields with an index that starts with the tenant, or whose values are unique to a tenant. */
function indexed(type: FieldType, names: string, inOrder = true): Field[] {
  return names
    .split(' ')
    .map((name) => field(type, name, { index: { expression: columnOf(name), inOrder } }));
}

const place = field('id', 'workspaceId', {
  index: { expression: 'coalesce(t.workspace_id, t.tenant_id)', inOrder: true },
});

const fieldsOf = (...groups: readonly Field[][]): Fields => {
  const all = [...indexed('id', 'id', false), ...groups.flat()];
  return Object.fromEntries(all.map((one) => [one.name, one]));
};

const taskFields = fieldsOf(
  [place],
  indexed('id', 'assigneeId ownerId goalId typeId'),
  [
    field('text', 'typeKey', {
      expression: '(select key from task_types where id = t.type_id)',
      index: {
        expression: 't.type_id',
        inOrder: false,
        valuesOf: (tenantId, keys) => fragment`
          select id as v from task_types where tenant_id = ${tenantId} and key = any (${keys}::text[])`,
      },
    }),
    field('text', 'systemStatusCategory', {
      column: 'category',
      index: { expression: 't.category', inOrder: true },
    }),
    field('text', 'priority', { words: priorities, index: { expression: 't.priority', inOrder: true } }),
    field('number', 'typeVersion', { expression: '(select version from task_types where id = t.type_id)' }),
    field('id', 'projectId', { expression: '(select project_id from workspaces where id = t.workspace_id)' }),
  ],
  texts('publicId title status'),
  numbers('version claimEpoch'),
  times('startDate dueDate createdAt updatedAt completedAt'),
  ids('activeClaimId createdBy'),
);

const runFields = fieldsOf(
  indexed('id', 'taskId claimId principalId'),
  indexed('text', 'status'),
  ids('sessionId cancelRequestedBy agentRevisionId'),
  texts('currency'),
  numbers('fencingToken attempt maxDurationSeconds maxActions maxTokens maxCostMicros version'),
  [
    field('number', 'usage.inputTokens', { column: 'input_tokens' }),
    field('number', 'usage.outputTokens', { column: 'output_tokens' }),
  ],
  times('startedAt finishedAt cancelRequestedAt lastProgressAt createdAt updatedAt'),
);

const claimFields = fieldsOf(
  indexed('id', 'taskId sessionId', false),
  indexed('text', 'status'),
  ids('holderId'),
  numbers('fencingToken'),
  texts('intent releaseReason'),
  times('acquiredAt heartbeatAt expiresAt releasedAt'),
);

const approvalFields = fieldsOf(
  indexed('id', 'taskId'),
  indexed('text', 'status'),
  ids(
    'workspaceId artifactId requestedByPrincipalId requiredRoleId assignedPrincipalId decisionByPrincipalId',
  ),
  [field('boolean', 'gate')],
  texts('outcomeStatus'),
  numbers('version'),
  times('decisionAt createdAt updatedAt'),
);

const projectFields = fieldsOf(
  [place],
  indexed('text', 'templateKey statusKey systemStatusCategory status'),
  ids('templateId ownerPrincipalId activeConfigRevisionId createdBy'),
  numbers('templateVersion activeConfigRevision version'),
  times('startDate targetDate createdAt updatedAt archivedAt'),
);

const goalFields = fieldsOf(
  [place],
  indexed('id', 'parentGoalId ownerId'),
  indexed('text', 'status'),
  texts('title'),
  ids('createdBy'),
  numbers('version'),
  times('createdAt updatedAt closedAt'),
);

const processFields = fieldsOf(
  [place],
  indexed('text', 'instanceKey status'),
  indexed('text', 'definitionKey', false),
  texts('outcome slaState'),
  numbers('definitionVersion'),
  times('startedAt updatedAt completedAt'),
);

const agentFields = fieldsOf(
  [place],
  indexed('text', 'state status'),
  texts('key displayName'),
  ids('principalId retiredBy'),
  numbers('replicas currentRevision version'),
  times('retiredAt createdAt updatedAt'),
);

const connectionFields = fieldsOf(
  [field('text', 'type', { column: 'type_key', index: { expression: 't.type_key', inOrder: true } })],
  indexed('text', 'status'),
  texts('key displayName account auth statusReason'),
  ids('connectedBy createdBy'),
  numbers('typeVersion version'),
  times('expiresAt connectedAt lastCheckedAt createdAt updatedAt'),
);

const invocationFields = fieldsOf(
  indexed('id', 'taskId'),
  ids('skillId authorityPrincipalId executorPrincipalId executorSessionId runId artifactId'),
  texts('status'),
  numbers('attempt maxAttempts fencingToken'),
  times('availableAt leaseExpiresAt heartbeatAt createdAt updatedAt startedAt finishedAt'),
);

export const fieldsBySource = {
  tasks: taskFields,
  runs: runFields,
  claims: claimFields,
  approvals: approvalFields,
  projects: projectFields,
  goals: goalFields,
  processes: processFields,
  agents: agentFields,
  connections: connectionFields,
  invocations: invocationFields,
};

import { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import type { JsonObject } from '@baton/values/wire';
import { NewTaskType } from '../../definitions/task-types/task-type.ts';
import { createTaskType, deprecateTaskType } from '../../definitions/task-types/task-types.ts';
import { holdCalendar, publishCalendar, retireCalendar } from '../../organisation/calendars/calendars.ts';
import { retireDefinition } from '../../processes/definitions/definitions.ts';
import { lockDefinition, publishDefinition } from '../../processes/definitions/publish-definition.ts';
import { retireAgent } from '../../registry/agent-retirement/retire-agent.ts';
import { AgentSpec } from '../../registry/agents/agent-spec.ts';
import { lockLinkedAgent, publishAgent } from '../../registry/agents/publish-agent.ts';
import { type RuleChange, RuleRequest } from '../../rules/catalog/rule.ts';
import {
  archiveRule,
  disableRule,
  enableRule,
  renameRule,
  updateRule,
} from '../../rules/catalog/rule-changes.ts';
import { createRule } from '../../rules/catalog/rules.ts';
import type { Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, fail } from '../errors.ts';
import type { Change } from '../plans/changes.ts';
import type { ObjectKind } from '../source/package-source.ts';
import { publishView, retireView } from '../views/publication/publish-view.ts';
import type { ViewSpec } from '../views/view-spec.ts';

/** The package that writes; it appears in the reason of each retirement. */
export interface Author {
  readonly key: string;
  readonly version: string;
}

interface Writer {
  /** The permission for changing objects of the kind. */
  readonly permission: Permission;
  /** Locks an object until the commit; absent if the lock on all packages is sufficient. */
  hold?(context: Context, key: string): Promise<unknown>;
  /** Writes a change with the kind's own operation, which emits the events and may refuse. */
  write(context: Context, change: WrittenChange, author: Author): Promise<unknown>;
  /** Retires the object under this key, because its document was removed or has another key now. */
  retire(context: Context, change: Change, author: Author): Promise<unknown>;
}

export type WrittenChange = Change & { readonly written: JsonObject };

const reasonOf = ({ key, version }: Author) => `Removed by version ${version} of the package ${key}.`;

const oldKeyOf = ({ key, world }: Change): string => world?.key ?? key;

export const writers: { readonly [Kind in ObjectKind]: Writer } = {
  Calendar: {
    permission: 'calendars.write',
    hold: holdCalendar,
    write: (context, { key, written }) =>
      publishCalendar(context, { key, spec: CalendarSpec.parse(written) }),
    retire: (context, change, author) => retireCalendar(context, oldKeyOf(change), reasonOf(author), false),
  },
  TaskType: {
    permission: 'task_types.manage',
    write: (context, { key, written }) => createTaskType(context, NewTaskType.parse({ ...written, key })),
    async retire(context, { world }) {
      for (const id of world?.version_ids ?? []) await deprecateTaskType(context, id);
    },
  },
  Agent: {
    permission: 'agents.manage',
    hold: lockLinkedAgent,
    write: (context, { key, written }, author) =>
      publishAgent(context, { key, spec: AgentSpec.parse(written), package: author }),
    retire: (context, change, author) => retireAgent(context, oldKeyOf(change), reasonOf(author)),
  },
  Process: {
    permission: 'processes.write',
    hold: lockDefinition,
    write: (context, { key, written }, author) => publishDefinition(context, { key, spec: written }, author),
    retire: (context, change, author) => retireDefinition(context, oldKeyOf(change), reasonOf(author), false),
  },
  WorkRule: { permission: 'rules.write', write: writeRule, retire: retireRule },
  View: {
    // Only packages publish views.
    permission: 'packages.plan',
    write: (context, { key, written }) => publishView(context, key, written as unknown as ViewSpec),
    retire: (context, change) => retireView(context, oldKeyOf(change)),
  },
};

/** Refusals that writers return unchanged; all others were checked earlier, and become problems of the package. */
export const writerCodes = [
  'permission_escalation',
  'visibility_escalation',
  'cannot_disable_self',
  'calendar_in_use',
  'system_task_type_required',
  'invalid_rule',
] as const satisfies readonly ErrorCode[];

async function writeRule(context: Context, change: WrittenChange): Promise<void> {
  const { key, written, world, renamedFrom } = change;
  const request = RuleRequest.parse({ ...written, key });
  if (world?.id == null) {
    await createRule(context, request);
    return;
  }
  const { id } = world;
  let version = world.version as number;
  if (renamedFrom !== null) version = (await renameRule(context, id, key)).version;
  const {
    description,
    trigger,
    condition = null,
    interpretation = null,
    action,
    goalId = null,
    identity = null,
  } = request;
  const changed: RuleChange = { description, trigger, condition, interpretation, action, goalId, identity };
  await updateRule(context, id, version, changed);
  if (request.status === world.state?.['status']) return;
  if (request.status === 'enabled') await enableRule(context, id);
  else if (request.status === 'disabled') await disableRule(context, id);
  else fail('invalid_status', { allowed: ['enabled', 'disabled'] });
}

async function retireRule(context: Context, { world }: Change): Promise<void> {
  if (world?.id != null) await archiveRule(context, world.id);
}

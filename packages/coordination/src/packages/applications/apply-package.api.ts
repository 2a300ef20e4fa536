import { Refusal } from '@baton/kernel/http/refusal';
import type { Surroundings } from '@baton/kernel/http/service';
import { delegationRevoked } from '../../access/delegations/delegations.events.ts';
import { iamBindingRevoked, iamBindingUpdated } from '../../access/iam-bindings/iam-bindings.events.ts';
import { principalDisabled, principalUpdated } from '../../access/principals/principals.events.ts';
import { taskTypeCreated, taskTypeDeprecated } from '../../definitions/task-types/task-types.events.ts';
import { childResolved } from '../../leases/children/children.events.ts';
import { invocationCancelled } from '../../leases/invocations/invocations.events.ts';
import { claimReleased, runFailed, sessionClosed } from '../../leases/leases.events.ts';
import {
  capabilityAssigned,
  capabilityRevoked,
  roleAssigned,
  roleRevoked,
  skillAssigned,
  skillRevoked,
} from '../../organisation/assignments/assignments.events.ts';
import {
  calendarPublished,
  calendarRestored,
  calendarRetired,
} from '../../organisation/calendars/calendars.events.ts';
import {
  definitionPublished,
  definitionRestored,
  definitionRetired,
} from '../../processes/definitions/definitions.events.ts';
import {
  agentRetired,
  agentRevisionPublished,
  agentStateChanged,
} from '../../registry/agents/agents.events.ts';
import { agentSecretDeleted } from '../../registry/agents/secrets/agent-secrets.events.ts';
import {
  ruleArchived,
  ruleCreated,
  ruleDisabled,
  ruleEnabled,
  ruleUpdated,
} from '../../rules/catalog/rules.events.ts';
import { runInPlanTurn } from '../catalog/turns.ts';
import { type Context, endpoint } from '../context.ts';
import { AppliedPackage, PackageApplication, PackagePlan, PackagePlanRequest } from '../plans/plan.ts';
import { planPackage, showPlan } from '../plans/plan-package.ts';
import { predictProcessDeadlines, replayProcesses } from '../plans/process-plans.ts';
import { readPackage } from '../source/read-package.ts';
import { viewPublished, viewRetired } from '../views/publication/views.events.ts';
import { applyPackage, type PreparedApplication, prepareApplication } from './apply-package.ts';
import { writerCodes } from './writers.ts';

/** @throws errors other than refusals */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

async function planOf(
  context: Context,
  { package: { files }, workspaceId = null, overwriteConsole, replayLimit }: PackagePlanRequest,
): Promise<PackagePlan> {
  const read = await readPackage(files);
  const plan = await planPackage(context, read, { workspaceId, overwriteConsole });
  const isSound = plan.problems.every(({ severity }) => severity !== 'error');
  const { changes } = plan.computed;
  const limit = isSound ? replayLimit : 0;
  const replayed = await replayProcesses(context, changes, plan.processes, limit);
  const processes = isSound ? await predictProcessDeadlines(context, changes, replayed) : replayed;
  return showPlan(context, { ...plan, processes });
}

const manifest = { path: 'package.yaml', content: 'key: support\nversion: "1.2.0"\n' };
const desk = {
  path: 'calendars/desk.yaml',
  content:
    'apiVersion: baton/v1\nkind: Calendar\nkey: desk\nspec:\n  displayName: Desk\n  timezone: Europe/Berlin\n  years: [{year: 2027}]\n',
};

export const packageApplyingApi = [
  endpoint({
    id: 'planPackage',
    method: 'POST',
    path: '/packages:plan',
    summary: 'Plan the changes that a package version would make.',
    description:
      'Nothing is written. Removing a document retires its object. A field that a person has changed since the last apply is preserved, unless `overwriteConsole` is true. `renames` gives objects new keys: a rule keeps its history; an object of another kind is created again with the changes that people made to it, and the old one is retired; agents cannot be renamed. Instances of a process continue with the version that they started with, unless the `migrations` of the new version have `migrate`: then `deadlines` lists the deadlines that would move, among the 200 newest instances of each process, for a caller with processes.read. `behaviour` counts the newest instances of a process that would take another path, for a caller with processes.read and a package without errors. A version changes at most 100 objects. At most one plan or apply runs at a time per tenant, and two per server process; up to 16 calls per tenant wait for at most 10 s.',
    permission: 'packages.plan',
    idempotency: 'ignored',
    transaction: 'none',
    largeBody: true,
    body: PackagePlanRequest,
    returns: { 200: PackagePlan },
    errors: ['not_found'],
    example: { package: { files: [manifest, desk] } },
    around: ({ body }, { context, command }: Surroundings<PackagePlan, Context>) =>
      runInPlanTurn(context, async () => command(await planOf(context, body))),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'applyPackage',
    method: 'POST',
    path: '/packages:apply',
    summary: 'Apply the plan of a package in one transaction.',
    description:
      'The caller also needs the permission for each kind of object that the package changes. `plan_stale` means that the package, or an object that it changes, has changed since the plan: plan again. Other refusals have the codes of the operations for each kind, or are listed among the problems of `invalid_package`.',
    permission: 'packages.plan',
    largeBody: true,
    body: PackageApplication,
    returns: { 200: AppliedPackage },
    errors: [
      'not_found',
      'invalid_package',
      'plan_stale',
      'migration_required',
      'calendar_retired',
      ...writerCodes,
    ],
    emits: [
      taskTypeCreated,
      taskTypeDeprecated,
      calendarPublished,
      calendarRestored,
      calendarRetired,
      agentRevisionPublished,
      agentStateChanged,
      agentRetired,
      agentSecretDeleted,
      principalUpdated,
      principalDisabled,
      iamBindingUpdated,
      iamBindingRevoked,
      roleAssigned,
      roleRevoked,
      capabilityAssigned,
      capabilityRevoked,
      skillAssigned,
      skillRevoked,
      delegationRevoked,
      claimReleased,
      sessionClosed,
      runFailed,
      childResolved,
      invocationCancelled,
      definitionPublished,
      definitionRestored,
      definitionRetired,
      ruleCreated,
      ruleUpdated,
      ruleEnabled,
      ruleDisabled,
      ruleArchived,
      viewPublished,
      viewRetired,
    ],
    example: {
      package: { files: [manifest, desk] },
      planHash: `sha256:${'0'.repeat(64)}`,
    },
    around({ body }, { context, command }: Surroundings<PreparedApplication | Refusal, Context>) {
      const { planHash, workspaceId = null, overwriteConsole } = body;
      return runInPlanTurn(context, async () => {
        const read = await readPackage(body.package.files);
        // A refusal is returned only once the idempotency key is available: the same request may have succeeded in the
        // meantime, and then its stored response is returned.
        const prepared = await prepareApplication(
          context,
          read,
          { workspaceId, overwriteConsole },
          planHash,
        ).catch(refusalOf);
        return command(prepared);
      });
    },
    handle({ prepared }, context) {
      if (prepared instanceof Refusal) throw prepared;
      return applyPackage(context, prepared);
    },
  }),
];

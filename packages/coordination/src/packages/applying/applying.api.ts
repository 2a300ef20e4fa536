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
import { inPlanTurn } from '../catalog/turns.ts';
import { type Context, endpoint } from '../context.ts';
import { AppliedPackage, PackageApplication, PackagePlan, PackagePlanRequest } from '../planning/plan.ts';
import { planPackage, showPlan } from '../planning/planning.ts';
import { foreseeProcesses, replayProcesses } from '../planning/process-plans.ts';
import { readPackage } from '../source/reading-package.ts';
import { viewPublished, viewRetired } from '../views/publishing/views.events.ts';
import { applyPackage, type PreparedApplication, prepareApplication } from './applying.ts';
import { writerCodes } from './writers.ts';

/** @throws what is no refusal */
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
  const processes = isSound ? await foreseeProcesses(context, changes, replayed) : replayed;
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
    summary: 'Say what applying a package would change.',
    description:
      'Nothing is written. A document that the package leaves out retires its object. A field that a person changed since the package was applied last stays as it is, unless `overwriteConsole` says otherwise. A key in `renames` is given to what had the old one: a rule keeps all it has, an object of another kind begins anew with what people changed of it, and the old one is retired; an agent keeps its key. Instances of a process go on by the version that they began with, unless the `migrations` of the new one say `migrate`: then `deadlines` says where deadlines would lie that move, of the 200 newest instances of each process, for a caller with processes.read. `behaviour` says how many of the newest instances of a process would go another way, for a caller with processes.read and a package without errors. One version changes 100 objects at most. One plan or apply of a tenant runs at a time and two of a process; 16 of a tenant wait for 10 s at most.',
    permission: 'packages.plan',
    idempotency: 'ignored',
    transaction: 'none',
    largeBody: true,
    body: PackagePlanRequest,
    returns: { 200: PackagePlan },
    errors: ['not_found'],
    example: { package: { files: [manifest, desk] } },
    around: ({ body }, { context, command }: Surroundings<PackagePlan, Context>) =>
      inPlanTurn(context, async () => command(await planOf(context, body))),
    handle: ({ prepared }) => prepared,
  }),
  endpoint({
    id: 'applyPackage',
    method: 'POST',
    path: '/packages:apply',
    summary: 'Carry out the plan of a package, all of it or nothing.',
    description:
      'It takes the right of each kind that the package touches besides. `plan_stale` says that the package, or what it changes, is not what it was when the plan was made: plan again. What the writers of the objects refuse is told as they tell it, or among the problems of `invalid_package`.',
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
      return inPlanTurn(context, async () => {
        const read = await readPackage(body.package.files);
        // A refusal waits for the key: the same request may have been carried out meanwhile, and is then answered as that was.
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

import { type BatonClient, etagOf } from '@baton/sdk';
import type { Connection } from '@baton/sdk/node';
import { invocation } from '../../../../bin/invocation.mjs';
import { demoRole } from '../demo-role.ts';
import { createDemoWorkspace } from '../demo-workspace.ts';
import { type HttpTransport, openAccess } from '../participants.ts';
import { type Company, foundCompany, runActions } from './company.ts';
import { type DerivedTask, type FinishedTask, findDerivedTask, finishOneTask } from './derived-task.ts';
import { attachKnowledge, type DemoKnowledge, describeKnowledge, queryMemory } from './knowledge.ts';

export interface OrganisationResult {
  /** The slug of the demo's workspace. */
  readonly workspace: string;
  readonly company: Company;
  readonly finished: FinishedTask;
  readonly followed: DerivedTask;
  readonly knowledge: DemoKnowledge;
}

const operatorPermissions = [
  'calendars.write',
  'project_templates.read',
  'project_templates.manage',
  'projects.read',
  'projects.manage',
  'workspaces.read',
  'workspaces.manage',
  'task_types.read',
  'task_types.manage',
  'rules.read',
  'rules.write',
  'tasks.read',
  'tasks.write',
  'events.read',
  'observations.write',
];
const agentPermissions = ['tasks.read', 'tasks.claim', 'task_types.read', 'sessions.open'];

/**
 * Sets up a small company in its own workspace, lets an agent finish one task, and finds the task that a rule
 * derived from it. The company remains for inspection until `baton demo remove`; its principals can no longer be used.
 */
export async function runOrganisationDemo(
  connection: Connection,
  http: HttpTransport,
): Promise<OrganisationResult> {
  const access = openAccess(connection, http);
  try {
    const workspace = await createDemoWorkspace(access.baton, 'organisation');
    const { baton: operator } = await access.create('demo operator', 'human', operatorPermissions, workspace);
    const agent = await access.create('demo agent', 'agent', agentPermissions, workspace);
    const now = new Date();
    const company = await foundCompany(operator, workspace, agent.principalId, now);
    const attached = await attachKnowledge(operator, company, workspace.suffix, now);
    const finished = await finishOneTask(operator, agent, company, now);
    const followed = await findDerivedTask(operator, company);
    await restrictToDemo(operator, followed.id);
    const knowledge = { ...attached, ...(await queryMemory(operator, followed)) };
    // Archived now, because the operator has no permissions once the demo ends.
    await operator.rules.archive(company.rule.id);
    return { workspace: workspace.slug, company, finished, followed, knowledge };
  } finally {
    await access.revoke();
  }
}

/**
 * Makes the task require the demo's role, because a rule can't set requirements. Until now, only the task's assignee
 * could take it.
 */
async function restrictToDemo(operator: BatonClient, taskId: string): Promise<void> {
  const requirements = { roles: [demoRole] };
  await operator.tasks.update(
    taskId,
    { requirements },
    { ifMatch: etagOf(await operator.tasks.get(taskId)) },
  );
}

/** Returns the result as a string. */
export function organisationLines({
  workspace,
  company,
  finished,
  followed,
  knowledge,
}: OrganisationResult): string[] {
  const { calendar, templateKey, refusedCode } = company;
  const moment = (instant: string) =>
    new Intl.DateTimeFormat('en-GB', {
      timeZone: calendar.timezone,
      dateStyle: 'full',
      timeStyle: 'short',
    }).format(new Date(instant));
  const limits = [company.company, company.shop].map(
    ({ name, maxRunActions, saidBy }) =>
      `  ${name}: at most ${maxRunActions} actions in a run, set by ${saidBy}`,
  );
  return [
    `Projects, both from the template ${templateKey}, the second below the first:`,
    ...limits,
    `  ${runActions.refused} for the second are rejected: ${refusedCode}`,
    '',
    `Calendar ${calendar.key}, ${calendar.timezone}, with a holiday on ${calendar.holiday}:`,
    `  ${finished.workingMinutes / 60} hours of work from now end on ${moment(finished.due)}`,
    `  its version before the holiday gave            ${moment(finished.dueWithoutHoliday)}`,
    '',
    `${finished.publicId} "${finished.title}" was finished by ${finished.doneBy}. The derived task:`,
    `  ${followed.publicId} "${followed.title}" (${followed.status})`,
    'Why:',
    `  rule        ${followed.why.ruleKey}, version ${followed.why.ruleVersion}: when a task of type ${company.taskType} is completed, ensure a review`,
    `  cause       ${followed.why.triggerEvent}, the task.completed of ${finished.publicId}`,
    `  evaluation  ${followed.why.evaluation}: its condition held`,
    `  once        one open task for ${followed.why.dedupKey}, whichever rule files it`,
    '',
    ...describeKnowledge(knowledge, followed),
    '',
    `The company is in the workspace ${workspace}; its principals are disabled. ${invocation()} demo remove removes it.`,
  ];
}

import type { Endpoint } from '@baton/kernel/http/service';
import type { Section } from '@baton/kernel/openapi/openapi';
import { apiKeysApi } from '../access/api-keys/api-keys.api.ts';
import { delegationsApi } from '../access/delegations/delegations.api.ts';
import { iamBindingsApi } from '../access/iam-bindings/iam-bindings.api.ts';
import { differencesApi } from '../access/policy/differences.api.ts';
import { principalsApi } from '../access/principals/principals.api.ts';
import { artifactTypesApi } from '../definitions/artifact-types/artifact-types.api.ts';
import { executorsApi } from '../definitions/executors/executors.api.ts';
import { taskTypesApi } from '../definitions/task-types/task-types.api.ts';
import { actionsApi } from '../execution/actions/actions.api.ts';
import { checkpointsApi } from '../execution/checkpoints/checkpoints.api.ts';
import { childHandlesApi } from '../execution/child-handles/child-handles.api.ts';
import { claimsApi } from '../execution/claims/claims.api.ts';
import { controlMessagesApi } from '../execution/control-messages/control-messages.api.ts';
import { handoverApi } from '../execution/handover/handover.api.ts';
import { harnessApi } from '../execution/harness/harness.api.ts';
import { manifestsApi } from '../execution/harness/manifests.api.ts';
import { runsApi } from '../execution/runs/runs.api.ts';
import { sessionsApi } from '../execution/sessions/sessions.api.ts';
import { usageApi } from '../execution/usage/usage.api.ts';
import { eventsApi } from '../ledger/journal/events.api.ts';
import { outboxApi } from '../ledger/outbox/outbox.api.ts';
import { retentionApi } from '../ledger/retention/retention.api.ts';
import { contextAdapterApi } from '../memory/adapter/context-adapter.api.ts';
import { contextApi } from '../memory/context/context.api.ts';
import { knowledgeApi } from '../memory/knowledge/knowledge.api.ts';
import { assignmentsApi } from '../organisation/assignments/assignments.api.ts';
import { calendarsApi } from '../organisation/calendars/calendars.api.ts';
import { capabilitiesApi } from '../organisation/capabilities/capabilities.api.ts';
import { membersApi } from '../organisation/members/members.api.ts';
import { projectTemplatesApi } from '../organisation/project-templates/project-templates.api.ts';
import { configRevisionsApi } from '../organisation/projects/config-revisions.api.ts';
import { projectsApi } from '../organisation/projects/projects.api.ts';
import { rolesApi } from '../organisation/roles/roles.api.ts';
import { skillsApi } from '../organisation/skills/skills.api.ts';
import { workspaceTypesApi } from '../organisation/workspace-types/workspace-types.api.ts';
import { workspacesApi } from '../organisation/workspaces/workspaces.api.ts';
import { packageApplyingApi } from '../packages/applying/applying.api.ts';
import { packagesApi } from '../packages/catalog/packages.api.ts';
import { packageTrialsApi } from '../packages/trials/trials.api.ts';
import { viewsApi } from '../packages/views/views.api.ts';
import { processDefinitionsApi } from '../processes/definitions/definitions.api.ts';
import { processInstancesApi } from '../processes/instances/instances.api.ts';
import { processReplayApi } from '../processes/instances/replay/replay.api.ts';
import { agentIdentityApi } from '../registry/agent-identity/agent-identity.api.ts';
import { agentRetirementApi } from '../registry/agent-retirement/agent-retirement.api.ts';
import { agentStatusApi } from '../registry/agent-status/agent-status.api.ts';
import { agentsApi } from '../registry/agents/agents.api.ts';
import { agentSecretsApi } from '../registry/agents/secrets/agent-secrets.api.ts';
import { connectionTypesApi } from '../registry/connection-types/connection-types.api.ts';
import { connectionsApi } from '../registry/connections/connections.api.ts';
import { packageSettingsApi } from '../registry/package-settings/package-settings.api.ts';
import { toolsApi } from '../registry/tools/tools.api.ts';
import { approvalsApi } from '../results/approvals/approvals.api.ts';
import { artifactsApi } from '../results/artifacts/artifacts.api.ts';
import { contentsApi } from '../results/contents/contents.api.ts';
import { invocationsApi } from '../results/invocations/invocations.api.ts';
import { observationsApi } from '../results/observations/observations.api.ts';
import { outcomesApi } from '../results/outcomes/outcomes.api.ts';
import { verificationsApi } from '../results/verification/verifications.api.ts';
import { rulesApi } from '../rules/catalog/rules.api.ts';
import { evaluationsApi } from '../rules/evaluations/evaluations.api.ts';
import { workApi } from '../work/available/available.api.ts';
import { makeAvailableApi } from '../work/available/make-available.api.ts';
import { commentsApi } from '../work/comments/comments.api.ts';
import { completionApi } from '../work/completion/completion.api.ts';
import { goalsApi } from '../work/goals/goals.api.ts';
import { readinessApi } from '../work/readiness/readiness.api.ts';
import { externalReferencesApi } from '../work/relations/external-references/external-references.api.ts';
import { taskRelationsApi } from '../work/relations/task-relations.api.ts';
import { goalWorkApi } from '../work/task-list/goal-work.api.ts';
import { taskListApi } from '../work/task-list/task-list.api.ts';
import { tasksApi } from '../work/tasks/tasks.api.ts';
import { typeMigrationApi } from '../work/type-migration/type-migration.api.ts';
import { authzApi } from './authz/authz.api.ts';
import { bootstrapApi } from './bootstrap/bootstrap.api.ts';
import type { Context } from './context.ts';
import { eventTypesApi } from './event-types/event-types.api.ts';
import { healthApi } from './health/health.api.ts';
import { withinSight } from './within-sight.ts';

/**
 * The table of contents of the API: every operation of coordination, in the order in which a newcomer needs them. What
 * is not listed here does not exist.
 */
export const sections: readonly Section<Endpoint<Context>>[] = [
  {
    tag: 'Tasks',
    about: 'What is to be done: its status, its requirements, and the proof that it is done.',
    endpoints: [
      ...tasksApi,
      ...taskListApi,
      ...completionApi,
      ...readinessApi,
      ...makeAvailableApi,
      ...verificationsApi,
    ],
  },
  {
    tag: 'Sessions',
    about: 'The presence of a program: its claims last only while its session does.',
    endpoints: [...sessionsApi, ...harnessApi],
  },
  {
    tag: 'Claims',
    about: 'Find a task, take it for a limited time so that nobody else works on it, and give it back.',
    endpoints: [...workApi, ...claimsApi],
  },
  {
    tag: 'Runs',
    about: 'One attempt to do a claimed task, from its start to its success, failure or cancellation.',
    endpoints: [
      ...runsApi,
      ...checkpointsApi,
      ...actionsApi,
      ...handoverApi,
      ...usageApi,
      ...manifestsApi,
      ...controlMessagesApi,
      ...childHandlesApi,
    ],
  },
  {
    tag: 'Approvals',
    about: 'What a person has to decide, and gates that hold a task back until then.',
    endpoints: [...approvalsApi, ...outcomesApi],
  },
  {
    tag: 'Artifacts',
    about: 'What runs leave behind: records of results, their bytes, and what each type of them must be.',
    endpoints: [...artifactsApi, ...contentsApi, ...artifactTypesApi],
  },
  {
    tag: 'Comments',
    about: 'What people and programs say about a task.',
    endpoints: commentsApi,
  },
  {
    tag: 'Events',
    about: 'The journal of every change, in its order.',
    endpoints: [...eventsApi, ...eventTypesApi],
  },
  {
    tag: 'Task types',
    about: 'The kinds of tasks, with their fields, their statuses and the moves between them.',
    endpoints: [...taskTypesApi, ...typeMigrationApi, ...executorsApi],
  },
  {
    tag: 'Task relations',
    about: 'How tasks belong together: parts, dependencies, origins.',
    endpoints: taskRelationsApi,
  },
  {
    tag: 'Observations',
    about: 'Facts that are published in the journal, for whoever remembers them.',
    endpoints: observationsApi,
  },
  {
    tag: 'Context',
    about:
      'What somebody who is about to act should know: the state of the work, and what memory knows of it.',
    endpoints: contextApi,
  },
  {
    tag: 'Knowledge',
    about: 'What the memory service is told of the world, and by which packs it reads it.',
    endpoints: knowledgeApi,
  },
  {
    tag: 'External references',
    about: 'What tasks and projects are called in other systems.',
    endpoints: externalReferencesApi,
  },
  {
    tag: 'Goals',
    about: 'What should be so, by what one sees that it is, and the work towards it.',
    endpoints: [...goalsApi, ...goalWorkApi],
  },
  {
    tag: 'Work rules',
    about: 'What work follows from what happened, in whose name, and what came of it.',
    endpoints: [...rulesApi, ...evaluationsApi],
  },
  {
    tag: 'Processes',
    about: 'What happens when, by whom and until when: definitions in versions that never change.',
    endpoints: [...processDefinitionsApi, ...processReplayApi, ...processInstancesApi],
  },
  {
    tag: 'Workspaces',
    about: 'The tree that work is filed in, its types, and who belongs where.',
    endpoints: [...workspacesApi, ...membersApi, ...workspaceTypesApi],
  },
  {
    tag: 'Calendars',
    about: 'On which days and at what hours people work, and what follows for a deadline.',
    endpoints: calendarsApi,
  },
  {
    tag: 'Projects',
    about:
      'What work is for: templates, projects and their states, and the configuration that holds for them.',
    endpoints: [...projectsApi, ...configRevisionsApi, ...projectTemplatesApi],
  },
  {
    tag: 'Operations',
    about: 'What an operator does: how far deliveries have come, and where old history goes.',
    endpoints: [...contextAdapterApi, ...outboxApi, ...retentionApi, ...differencesApi],
  },
  {
    tag: 'Roles and skills',
    about:
      'Roles, capabilities and skills, and who has them: they decide who may do which work, and give no permission.',
    endpoints: [...rolesApi, ...capabilitiesApi, ...skillsApi, ...assignmentsApi],
  },
  {
    tag: 'Tools',
    about: 'Which skills a program may use now, searched, with the schemas of what they take.',
    endpoints: toolsApi,
  },
  {
    tag: 'Skill calls',
    about:
      'Calls of skills: asked for by programs, people and the core itself, executed by executors under leases.',
    endpoints: invocationsApi,
  },
  {
    tag: 'Packages',
    about: 'Catalogue objects that come together: what is installed, and from which package.',
    endpoints: [...packagesApi, ...packageApplyingApi, ...packageTrialsApi, ...packageSettingsApi],
  },
  {
    tag: 'Views',
    about: 'What packages show of the work: lists and sums of what a tenant has, in declared columns.',
    endpoints: viewsApi,
  },
  {
    tag: 'Agents',
    about:
      'The registry of agents: what each is to be, in revisions, as which principal it acts, how it fares, and which secrets it has.',
    endpoints: [
      ...agentsApi,
      ...agentRetirementApi,
      ...agentIdentityApi,
      ...agentStatusApi,
      ...agentSecretsApi,
    ],
  },
  {
    tag: 'Connections',
    about: 'Access to accounts in other systems: how each family of them is connected, and who is connected.',
    endpoints: [...connectionsApi, ...connectionTypesApi],
  },
  {
    tag: 'Principals',
    about: 'The people, agents and services that act here.',
    endpoints: principalsApi,
  },
  {
    tag: 'IAM bindings',
    about: 'Which identities of the identity service may act as which principal, with which permissions.',
    endpoints: iamBindingsApi,
  },
  {
    tag: 'API keys',
    about: 'Credentials of this service itself, for clients that cannot get an access token.',
    endpoints: apiKeysApi,
  },
  {
    tag: 'Delegations',
    about: 'Who lets an agent act on their behalf.',
    endpoints: delegationsApi,
  },
  {
    tag: 'Authorization',
    about: 'What the caller may do, asked before it is tried.',
    endpoints: authzApi,
  },
  {
    tag: 'Bootstrap',
    about: 'The first call of a new installation.',
    endpoints: bootstrapApi,
  },
  {
    tag: 'Health',
    about: 'Whether the service runs and can serve, and its metrics.',
    endpoints: healthApi,
  },
];

export const endpoints: readonly Endpoint<Context>[] = sections
  .flatMap((section) => section.endpoints)
  .map(withinSight);

import { reply } from '@baton/kernel/http/service';
import { TypeKey, VersionRef } from '@baton/values/keys';
import { QueryFlag, QueryWord, Uuid } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import {
  ProcessDefinition,
  ProcessDefinitionPage,
  ProcessDefinitionRequest,
  ProcessRetirement,
  RetiredProcess,
} from './definition.ts';
import { definitionPublished, definitionRestored, definitionRetired } from './definitions.events.ts';
import { getDefinition, listDefinitions, listDefinitionVersions, retireDefinition } from './definitions.ts';
import { publishDefinition } from './publish-definition.ts';

export const processDefinitionsApi = [
  endpoint({
    id: 'publishProcessDefinition',
    method: 'POST',
    path: '/process-definitions',
    summary: 'Publish the next version of a process.',
    description:
      'Versions are immutable. Returns 200 if this version already exists with the same content, otherwise 201; a new version reactivates a retired process. `invalid_process` lists every problem with its path; `warnings` lists less serious findings. The process acts as its agent, so the caller must hold all permissions of the agent. Instances continue with the version that they started with, unless `migrations` has `migrate` for that version: then the worker migrates them, except those that a step called as `key@version`. Elements are matched by id, or by the id that `map` gives them (null: removed). An open step keeps its task, approvals or call; a removed step is closed, and its list continues after the completed steps. Steps that the new version adds before that point are not run, a stage before one that has started is skipped, and deadlines that the new version defines differently are computed again. A step that has moved to another list of steps is a problem, unless `map` removes it.',
    permission: 'processes.write',
    body: ProcessDefinitionRequest,
    returns: { 200: ProcessDefinition, 201: ProcessDefinition },
    errors: [
      'payload_too_large',
      'secret_material_rejected',
      'not_found',
      'process_version_conflict',
      'invalid_process',
      'workspace_archived',
      'unknown_agent',
      'permission_escalation',
    ],
    emits: [definitionPublished, definitionRestored],
    example: {
      key: 'release',
      spec: {
        version: 1,
        displayName: 'Release of a change',
        identity: { agent: 'release-desk' },
        owner: [{ role: 'release-managers' }],
        data: {
          type: 'object',
          properties: { change: { type: 'string' }, approved: { type: 'boolean' } },
        },
        start: {
          on: { observation: 'change-ready' },
          key: 'event.payload.data.change',
          set: { change: 'event.payload.data.change' },
        },
        stages: [
          {
            id: 'review',
            steps: [
              {
                id: 'look',
                human: {
                  taskType: 'task',
                  title: 'Review {{ data.change }}',
                  assign: [{ role: 'reviewers' }],
                },
                export: { as: { approved: "step.result.verdict == 'good'" } },
              },
            ],
          },
          {
            id: 'end',
            entry: 'stage.review.completed',
            steps: [{ id: 'done', complete: { outcome: 'released' } }],
          },
        ],
      },
    },
    async handle({ body }, context) {
      const { definition, isNew } = await publishDefinition(context, body);
      return reply(isNew ? 201 : 200, definition);
    },
  }),
  endpoint({
    id: 'listProcessDefinitions',
    method: 'GET',
    path: '/process-definitions',
    summary: 'List processes, each by its latest version, newest first.',
    description: 'A page has at most 4 MiB; use the cursor to read the rest.',
    permission: 'processes.read',
    query: {
      key: QueryWord.optional(),
      workspaceId: Uuid.optional(),
      governedBy: QueryWord.optional(),
      status: QueryWord.optional(),
      package: PackageFilter,
    },
    paging: true,
    returns: { 200: ProcessDefinitionPage },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listDefinitions(context, query, page),
  }),
  endpoint({
    id: 'getProcessDefinition',
    method: 'GET',
    path: '/process-definitions/{key}',
    summary: 'Read a version of a process.',
    permission: 'processes.read',
    params: { key: VersionRef },
    returns: { 200: ProcessDefinition },
    errors: ['not_found'],
    handle: ({ params }, context) => getDefinition(context, params.key),
  }),
  endpoint({
    id: 'listProcessDefinitionVersions',
    method: 'GET',
    path: '/process-definitions/{key}/versions',
    summary: 'List the versions of a process, newest first.',
    description: 'A page has at most 4 MiB; use the cursor to read the rest.',
    permission: 'processes.read',
    params: { key: TypeKey },
    paging: true,
    returns: { 200: ProcessDefinitionPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listDefinitionVersions(context, params.key, page),
  }),
  endpoint({
    id: 'retireProcessDefinition',
    method: 'POST',
    path: '/process-definitions/{key}:retire',
    summary: 'Retire a process.',
    description:
      'No new instances start; running instances continue. Retiring a retired process changes nothing, and publishing a new version reactivates it. With `dryRun` nothing is written.',
    permission: 'processes.write',
    params: { key: TypeKey },
    query: { dryRun: QueryFlag.optional() },
    body: ProcessRetirement,
    returns: { 200: RetiredProcess },
    errors: ['not_found'],
    emits: [definitionRetired],
    example: { reason: 'Releases follow another process now.' },
    handle: ({ params, query, body }, context) =>
      retireDefinition(context, params.key, body.reason, query.dryRun ?? false),
  }),
];

import { idParams } from '@baton/values/keys';
import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { workspaceCreated } from '../workspaces/workspaces.events.ts';
import { Project, ProjectChange, ProjectRequest, ProjectTransition } from './project.ts';
import { archiveProject, restoreProject } from './project-archive.ts';
import { transitionProject, updateProject } from './project-changes.ts';
import {
  projectArchived,
  projectCreated,
  projectRestored,
  projectStatusChanged,
  projectUpdated,
} from './projects.events.ts';
import { createProject, getProject, listProjects } from './projects.ts';

const settingsErrors = [
  'governance_not_in_settings',
  'invalid_config',
  'instructions_too_large',
  'secret_material_rejected',
] as const;
const documentErrors = [
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'custom_fields_invalid',
  ...settingsErrors,
] as const;

export const projectsApi = [
  endpoint({
    id: 'createProject',
    method: 'POST',
    path: '/projects',
    summary:
      'Create a project for a workspace from a template; also creates the workspace if a slug is sent.',
    description:
      'A workspace has at most one project. Creating the workspace also requires workspaces.manage.',
    permission: 'projects.manage',
    body: ProjectRequest,
    returns: { 201: Project },
    etag: 'project',
    errors: [
      'invalid_project_request',
      'not_found',
      'workspace_archived',
      'workspace_too_deep',
      'workspace_slug_conflict',
      'workspace_type_archived',
      'child_type_not_allowed',
      'invalid_template_reference',
      'template_deprecated',
      'status_not_in_lifecycle',
      ...documentErrors,
      'project_exists',
      'setting_locked',
    ],
    emits: [workspaceCreated, projectCreated],
    example: { workspaceSlug: 'launch', templateKey: 'launch', settings: { language: 'de' } },
    handle: ({ body }, context) => createProject(context, body),
  }),
  endpoint({
    id: 'listProjects',
    method: 'GET',
    path: '/projects',
    summary: 'List projects, newest first.',
    permission: 'projects.read',
    query: {
      workspaceId: Uuid.optional().describe('Only the project of exactly this workspace.'),
      status: QueryWord.optional(),
      statusKey: QueryWord.optional(),
      systemStatusCategory: QueryWord.optional(),
      templateKey: QueryWord.optional(),
      externalSystem: QueryWord.optional().describe(
        'With externalId: the external system that uses this id.',
      ),
      externalType: QueryWord.optional(),
      externalId: QueryWord.optional(),
    },
    paging: true,
    returns: { 200: pageOf(Project) },
    errors: [
      'invalid_status',
      'invalid_status_category',
      'invalid_external_lookup',
      'not_found',
      'invalid_cursor',
    ],
    handle: ({ query, page }, context) => listProjects(context, query, page),
  }),
  endpoint({
    id: 'getProject',
    method: 'GET',
    path: '/projects/{id}',
    summary: 'Read a project.',
    permission: 'projects.read',
    params: idParams,
    returns: { 200: Project },
    etag: 'project',
    errors: ['not_found'],
    handle: ({ params }, context) => getProject(context, params.id),
  }),
  endpoint({
    id: 'updateProject',
    method: 'PATCH',
    path: '/projects/{id}',
    summary: 'Change a project.',
    description:
      'Values equal to the stored ones change nothing. `null` clears a date, clearOwner the owner.',
    permission: 'projects.manage',
    ifMatch: 'project',
    etag: 'project',
    params: idParams,
    body: ProjectChange,
    returns: { 200: Project },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'project_archived',
      'invalid_template_reference',
      'template_deprecated',
      'status_not_in_lifecycle',
      ...documentErrors,
      'setting_locked',
      'invalid_project_request',
      'empty_update',
    ],
    emits: [projectUpdated],
    example: { targetDate: '2027-03-01', settings: { language: 'fr' } },
    precheck: ({ body }) => refuseNulls(body, ['startDate', 'targetDate']),
    handle: ({ params, ifMatch, body }, context) => updateProject(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'transitionProject',
    method: 'POST',
    path: '/projects/{id}:transition',
    summary: 'Move a project to another status of its lifecycle.',
    permission: 'projects.manage',
    ifMatch: 'project',
    etag: 'project',
    params: idParams,
    body: ProjectTransition,
    returns: { 200: Project },
    errors: [
      'not_found',
      'version_conflict',
      'project_archived',
      'status_not_in_lifecycle',
      'invalid_transition',
    ],
    emits: [projectStatusChanged],
    example: { statusKey: 'active', comment: 'The budget is approved.' },
    handle: ({ params, ifMatch, body }, context) => transitionProject(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'archiveProject',
    method: 'POST',
    path: '/projects/{id}:archive',
    summary: 'Archive a project; its work is no longer available.',
    description: 'Tasks, workspace, history and nested projects remain. Archiving it again changes nothing.',
    permission: 'projects.manage',
    params: idParams,
    returns: { 200: Project },
    etag: 'project',
    errors: ['not_found'],
    emits: [projectArchived],
    handle: ({ params }, context) => archiveProject(context, params.id),
  }),
  endpoint({
    id: 'restoreProject',
    method: 'POST',
    path: '/projects/{id}:restore',
    summary: 'Restore an archived project.',
    description:
      'Its work becomes available again: the first 1,000 tasks immediately, the others by a worker. Restoring an active ' +
      'project changes nothing.',
    permission: 'projects.manage',
    params: idParams,
    returns: { 200: Project },
    etag: 'project',
    errors: ['not_found', 'workspace_archived', 'project_archived'],
    emits: [projectRestored],
    handle: ({ params }, context) => restoreProject(context, params.id),
  }),
];
